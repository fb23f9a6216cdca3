//! The `Content-Type` header (RFC 9110, section 8.3).

use reqwest::header::{CONTENT_TYPE, HeaderMap};

/// A media type with its charset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentType {
    essence: String,
    charset: Option<String>,
}

impl ContentType {
    /// Parses the value of the header; `None` if it contains no media type.
    pub fn parse(value: &str) -> Option<Self> {
        let (essence, parameters) = value.split_once(';').unwrap_or((value, ""));
        let essence = essence.trim().to_ascii_lowercase();
        let (kind, subkind) = essence.split_once('/')?;
        if [kind, subkind].iter().any(|part| part.is_empty() || part.contains(char::is_whitespace)) {
            return None;
        }
        Some(Self { essence, charset: charset(parameters) })
    }

    /// Returns the media type in lower case, without parameters: `text/html`.
    pub fn essence(&self) -> &str {
        &self.essence
    }

    /// Returns the label of the encoding as sent, which may name no known encoding; `None` without one.
    pub fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    pub(super) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(CONTENT_TYPE)?.to_str().ok()?)
    }
}

fn charset(parameters: &str) -> Option<String> {
    let (_, value) = parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    // Single quotes mean nothing in HTTP, but some servers write them.
    Some(value.trim().trim_matches(['"', '\'']).trim().to_owned()).filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_charset_are_parsed_in_any_syntax() {
        for (value, essence, charset) in [
            ("text/html", "text/html", None),
            (" Text/HTML ; Charset=\"UTF-8\" ", "text/html", Some("UTF-8")),
            ("text/html;charset='windows-1252'", "text/html", Some("windows-1252")),
            ("application/rss+xml; a=b; charset = koi8-r;", "application/rss+xml", Some("koi8-r")),
            ("text/plain; charset=", "text/plain", None),
        ] {
            let parsed = ContentType::parse(value).unwrap();
            assert_eq!((parsed.essence(), parsed.charset()), (essence, charset), "{value}");
        }
    }

    #[test]
    fn value_without_a_media_type_is_none() {
        for value in ["", "html", "text/", "/html", "text /html", "; charset=utf-8"] {
            assert_eq!(ContentType::parse(value), None, "{value}");
        }
    }
}
