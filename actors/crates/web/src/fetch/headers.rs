//! The headers of a response that callers use: validators, links, and when to retry.

use std::time::Duration;

use reqwest::header::{DATE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, LINK, RETRY_AFTER};
use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

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
    /// `Retry-After` as by [`retry_after`]: at most a day.
    pub retry_after: Option<Duration>,
    /// Every `Link` header as sent (RFC 8288), for example the hub and the own URL of a feed.
    pub link: Vec<String>,
}

impl ResponseHeaders {
    pub(super) fn from_map(headers: &HeaderMap) -> Self {
        let link =
            headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok()).map(str::to_owned).collect();
        Self {
            etag: text(headers, ETAG).map(str::to_owned),
            last_modified: text(headers, LAST_MODIFIED).map(str::to_owned),
            retry_after: retry_after(headers),
            link,
        }
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|value| !value.is_empty())
}

/// Returns how long `Retry-After` asks to wait, at most a day. A date counts from the response's own `Date`, so that no clock
/// matters, or from the clock of this machine if there is none.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, RETRY_AFTER)?;
    let wait = match value.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let now = || {
                let now = OffsetDateTime::now_utc();
                PrimitiveDateTime::new(now.date(), now.time())
            };
            let wait = date(value)? - text(headers, DATE).and_then(date).unwrap_or_else(now);
            // A date in the past is a negative duration: the retry is due now.
            Duration::try_from(wait).unwrap_or_default()
        }
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

fn date(value: &str) -> Option<PrimitiveDateTime> {
    PrimitiveDateTime::parse(value, HTTP_DATE).ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> ResponseHeaders {
        let map = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        ResponseHeaders::from_map(&map)
    }

    fn wait(value: &'static str) -> Option<u64> {
        let date = (DATE, "Fri, 02 Jan 2026 03:04:05 GMT");
        headers(&[(RETRY_AFTER, value), date]).retry_after.map(|wait| wait.as_secs())
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(wait("120"), Some(120));
        assert_eq!(wait("Fri, 02 Jan 2026 03:05:05 GMT"), Some(60));
        assert_eq!(wait("Fri, 02 Jan 2026 03:00:00 GMT"), Some(0), "a date in the past");
        assert_eq!(wait("99999999999"), Some(86_400), "at most a day");
        assert_eq!(wait("Fri, 02 Jan 2036 03:00:00 GMT"), Some(86_400));
        assert_eq!(wait("soon"), None);
        let undated = headers(&[(RETRY_AFTER, "Fri, 02 Jan 2099 03:04:05 GMT")]);
        assert_eq!(undated.retry_after, Some(MAX_RETRY_AFTER));
        assert_eq!(wait("-5"), None);
        assert_eq!(wait("99999999999999999999999"), None);
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
