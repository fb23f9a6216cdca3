//! The delay before an endpoint that was busy is asked again.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};
use values::time::Timestamp;

/// Delay before the second attempt if the endpoint sends no `Retry-After`. It doubles with each further attempt.
pub(super) const FIRST_DELAY: Duration = Duration::from_millis(400);

const HTTP_DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// Parses `Retry-After` (RFC 9110, section 10.2.3): a number of seconds or an HTTP date. A date in the past
/// means no delay; another value is `None`.
pub(super) fn parse_retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let time = PrimitiveDateTime::parse(value, HTTP_DATE).ok()?.assume_utc();
    let millis = (time - OffsetDateTime::UNIX_EPOCH).whole_milliseconds();
    let millis = u64::try_from(millis - i128::from(now.millis())).unwrap_or(0);
    Some(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, value.parse().unwrap());
        parse_retry_after(&headers, Timestamp::parse("2024-05-06T12:00:00Z").unwrap())
    }

    #[test]
    fn retry_after_other_than_seconds_and_dates_is_ignored() {
        assert_eq!(parsed("7"), Some(Duration::from_secs(7)));
        assert_eq!(parsed("Mon, 06 May 2024 12:01:30 GMT"), Some(Duration::from_secs(90)));
        assert_eq!(parsed("Mon, 06 May 2024 11:00:00 GMT"), Some(Duration::ZERO));
        for other in ["", "soon", "-1", "1.5", "Mon, 06 Foo 2024 12:01:30 GMT"] {
            assert_eq!(parsed(other), None, "{other}");
        }
        assert_eq!(parse_retry_after(&HeaderMap::new(), Timestamp::default()), None);
    }
}
