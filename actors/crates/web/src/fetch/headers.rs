//! The headers of an answer that somebody needs later: validators, links, and when to come again.

use std::time::Duration;

use reqwest::header::{DATE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, LINK, RETRY_AFTER};
use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

/// Longest wait that a server may ask for; a longer one is cut to this.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// RFC 9110, section 5.6.7, the form that is not obsolete.
const HTTP_DATE: StaticFormatDescription =
    format_description!("[weekday repr:short], [day] [month repr:short] [year] [hour]:[minute]:[second] GMT");

/// Some headers of an answer; each is none when it is missing or not plain text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers {
    /// The validator to send as `If-None-Match`.
    pub etag: Option<String>,
    /// The validator to send as `If-Modified-Since`.
    pub last_modified: Option<String>,
    /// How long the server asks not to be asked again; a day at most.
    pub retry_after: Option<Duration>,
    /// Every `Link` header as it came (RFC 8288): a feed's hub, its own address.
    pub link: Vec<String>,
}

impl Headers {
    pub(super) fn of(headers: &HeaderMap) -> Self {
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

/// When to come again, a day at most: seconds, or a date. A date is measured from the answer's own `Date`, so that neither
/// clock matters, and from ours where there is none.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, RETRY_AFTER)?;
    let wait = match value.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let here = || {
                let now = OffsetDateTime::now_utc();
                PrimitiveDateTime::new(now.date(), now.time())
            };
            let until = date(value)? - text(headers, DATE).and_then(date).unwrap_or_else(here);
            Duration::try_from(until).unwrap_or_default()
        }
    };
    Some(wait.min(LONGEST_WAIT))
}

fn date(value: &str) -> Option<PrimitiveDateTime> {
    PrimitiveDateTime::parse(value, HTTP_DATE).ok()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> Headers {
        let map = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        Headers::of(&map)
    }

    fn wait(value: &'static str) -> Option<u64> {
        let date = (DATE, "Fri, 02 Jan 2026 03:04:05 GMT");
        headers(&[(RETRY_AFTER, value), date]).retry_after.map(|wait| wait.as_secs())
    }

    #[test]
    fn the_wait_is_read_from_seconds_and_from_dates() {
        assert_eq!(wait("120"), Some(120));
        assert_eq!(wait("Fri, 02 Jan 2026 03:05:05 GMT"), Some(60));
        assert_eq!(wait("Fri, 02 Jan 2026 03:00:00 GMT"), Some(0), "a date gone by");
        assert_eq!(wait("99999999999"), Some(86_400), "a day at most");
        assert_eq!(wait("Fri, 02 Jan 2036 03:00:00 GMT"), Some(86_400));
        assert_eq!(wait("soon"), None);
        let undated = headers(&[(RETRY_AFTER, "Fri, 02 Jan 2099 03:04:05 GMT")]);
        assert_eq!(undated.retry_after, Some(LONGEST_WAIT));
        assert_eq!(wait("-5"), None);
        assert_eq!(wait("99999999999999999999999"), None);
    }

    #[test]
    fn validators_and_links_are_kept_as_they_came() {
        let read = headers(&[
            (ETAG, "W/\"a b\""),
            (LAST_MODIFIED, " Fri, 02 Jan 2026 03:04:05 GMT"),
            (LINK, "</a>; rel=hub"),
            (LINK, "</b>; rel=self"),
        ]);

        assert_eq!(read.etag.as_deref(), Some("W/\"a b\""));
        assert_eq!(read.last_modified.as_deref(), Some("Fri, 02 Jan 2026 03:04:05 GMT"));
        assert_eq!(read.link, ["</a>; rel=hub", "</b>; rel=self"]);
        assert_eq!(headers(&[]), Headers::default());
    }
}
