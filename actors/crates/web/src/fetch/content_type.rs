//! The `Content-Type` header: what a body is said to be.

use reqwest::header::{CONTENT_TYPE, HeaderMap};

/// A media type and, for texts, the encoding that was named with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentType {
    essence: String,
    charset: Option<String>,
}

impl ContentType {
    /// Reads the header's value; none when it names no type.
    pub fn parse(value: &str) -> Option<Self> {
        let (essence, parameters) = value.split_once(';').unwrap_or((value, ""));
        let essence = essence.trim().to_ascii_lowercase();
        let (kind, subkind) = essence.split_once('/')?;
        if [kind, subkind].iter().any(|part| part.is_empty() || part.contains(char::is_whitespace)) {
            return None;
        }
        Some(Self { essence, charset: charset(parameters) })
    }

    /// `text/html`: lower case, without parameters.
    pub fn essence(&self) -> &str {
        &self.essence
    }

    /// The label of the encoding, as it was written.
    pub fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(CONTENT_TYPE)?.to_str().ok()?)
    }
}

fn charset(parameters: &str) -> Option<String> {
    let (_, value) = parameters
        .split(';')
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches(['"', '\'']).trim().to_owned()).filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_charset_are_read_however_they_are_written() {
        for (value, essence, charset) in [
            ("text/html", "text/html", None),
            (" Text/HTML ; Charset=\"UTF-8\" ", "text/html", Some("UTF-8")),
            ("text/html;charset='windows-1252'", "text/html", Some("windows-1252")),
            ("application/rss+xml; a=b; charset = koi8-r;", "application/rss+xml", Some("koi8-r")),
            ("text/plain; charset=", "text/plain", None),
        ] {
            let read = ContentType::parse(value).unwrap();
            assert_eq!((read.essence(), read.charset()), (essence, charset), "{value}");
        }
    }

    #[test]
    fn what_names_no_type_is_none() {
        for value in ["", "html", "text/", "/html", "text /html", "; charset=utf-8"] {
            assert_eq!(ContentType::parse(value), None, "{value}");
        }
    }
}
