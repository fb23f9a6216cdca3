//! The headers of a response that callers use: validators, links, and when to retry.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{DATE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, LINK, RETRY_AFTER};
use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

/// Reads the caller's clock: the time since the Unix epoch.
pub type WallClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// A longer `Retry-After` is reduced to this.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// IMF-fixdate (RFC 9110, section 5.6.7); the obsolete forms are not accepted.
const HTTP_DATE: StaticFormatDescription =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// Some headers of a response. Each is `None` if it is missing or not plain text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseHeaders {
    /// `ETag`, to be sent as `If-None-Match`.
    pub etag: Option<String>,
    /// `Last-Modified`, to be sent as `If-Modified-Since`.
    pub last_modified: Option<String>,
    /// Every `Link` header as sent (RFC 8288), for example the hub and the own URL of a feed.
    pub link: Vec<String>,
}

impl ResponseHeaders {
    pub(super) fn from_map(headers: &HeaderMap) -> Self {
        let link =
            headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect();
        Self {
            etag: find_text(headers, ETAG).map(str::to_owned),
            last_modified: find_text(headers, LAST_MODIFIED).map(str::to_owned),
            link,
        }
    }
}

fn find_text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|value| !value.is_empty())
}

/// Returns how long `Retry-After` asks to wait, at most a day. A date counts from the response's own `Date`, so that no clock
/// matters; if there is none, it counts from `now`, the time since the Unix epoch.
pub fn retry_after(headers: &HeaderMap, now: Duration) -> Option<Duration> {
    let value = find_text(headers, RETRY_AFTER)?;
    let wait = match value.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let sent_at = find_text(headers, DATE).and_then(unix_time).unwrap_or(now);
            // A date in the past is a wait of zero: the retry is due now.
            unix_time(value)?.saturating_sub(sent_at)
        }
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

/// Parses a date as the time since the Unix epoch; an earlier one is zero.
fn unix_time(value: &str) -> Option<Duration> {
    let date = PrimitiveDateTime::parse(value, HTTP_DATE).ok()?.assume_utc();
    Some(Duration::try_from(date - OffsetDateTime::UNIX_EPOCH).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    /// 2026-01-02T03:04:05Z.
    const NOW: Duration = Duration::from_secs(1_767_323_045);

    fn header_map(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    fn headers(pairs: &[(HeaderName, &'static str)]) -> ResponseHeaders {
        ResponseHeaders::from_map(&header_map(pairs))
    }

    fn wait(value: &'static str) -> Option<u64> {
        let date = (DATE, "Fri, 02 Jan 2026 03:04:05 GMT");
        retry_after(&header_map(&[(RETRY_AFTER, value), date]), Duration::ZERO).map(|wait| wait.as_secs())
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(wait("120"), Some(120));
        assert_eq!(wait("Fri, 02 Jan 2026 03:05:05 GMT"), Some(60));
        assert_eq!(wait("Fri, 02 Jan 2026 03:00:00 GMT"), Some(0), "a date in the past");
        assert_eq!(wait("99999999999"), Some(86_400), "at most a day");
        assert_eq!(wait("Fri, 02 Jan 2036 03:00:00 GMT"), Some(86_400));
        for other in ["", "soon", "-5", "1.5", "99999999999999999999999", "Fri, 02 Foo 2026 03:05:05 GMT"] {
            assert_eq!(wait(other), None, "{other}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), NOW), None);
    }

    #[test]
    fn retry_after_without_a_date_header_counts_from_now() {
        let undated = |value| retry_after(&header_map(&[(RETRY_AFTER, value)]), NOW);

        assert_eq!(undated("Fri, 02 Jan 2026 03:05:05 GMT"), Some(Duration::from_secs(60)));
        assert_eq!(undated("Fri, 02 Jan 2026 03:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(undated("Fri, 02 Jan 2099 03:04:05 GMT"), Some(MAX_RETRY_AFTER));
    }

    #[test]
    fn validators_and_links_are_returned_as_sent() {
        let parsed = headers(&[
            (ETAG, "W/\"a b\""),
            (LAST_MODIFIED, " Fri, 02 Jan 2026 03:04:05 GMT"),
            (LINK, "</a>; rel=hub"),
            (LINK, "</b>; rel=self"),
        ]);

        assert_eq!(parsed.etag.as_deref(), Some("W/\"a b\""));
        assert_eq!(parsed.last_modified.as_deref(), Some("Fri, 02 Jan 2026 03:04:05 GMT"));
        assert_eq!(parsed.link, ["</a>; rel=hub", "</b>; rel=self"]);
        assert_eq!(headers(&[]), ResponseHeaders::default());
    }
}
