//! When to ask an endpoint again that says it is busy.

use std::time::Duration;

use entity::time::Timestamp;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

/// Before the second try, where the endpoint names no time; twice as long before the third.
pub(super) const FIRST: Duration = Duration::from_millis(400);

const HTTP_DATE: &[BorrowedFormatItem<'_>] =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// What `Retry-After` says (RFC 9110, section 10.2.3): seconds, or a moment.
pub(super) fn after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let said = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = said.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = PrimitiveDateTime::parse(said, HTTP_DATE).ok()?.assume_utc();
    let millis = (moment - OffsetDateTime::UNIX_EPOCH).whole_milliseconds();
    let millis = u64::try_from(millis - i128::from(now.millis())).unwrap_or(0);
    Some(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, value.parse().unwrap());
        after(&headers, Timestamp::parse("2024-05-06T12:00:00Z").unwrap())
    }

    #[test]
    fn seconds_and_moments_are_read_and_anything_else_is_nothing() {
        assert_eq!(said("7"), Some(Duration::from_secs(7)));
        assert_eq!(said("Mon, 06 May 2024 12:01:30 GMT"), Some(Duration::from_secs(90)));
        assert_eq!(said("Mon, 06 May 2024 11:00:00 GMT"), Some(Duration::ZERO));
        for other in ["", "soon", "-1", "1.5", "Mon, 06 Foo 2024 12:01:30 GMT"] {
            assert_eq!(said(other), None, "{other}");
        }
        assert_eq!(after(&HeaderMap::new(), Timestamp::default()), None);
    }
}
