//! Which media types may be uploaded, and what becomes of each.

use std::fmt;

use entity::kind::ContentType;

/// A media type in lower case, without its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaType(String);

impl MediaType {
    /// Reads `type/subtype`, with any parameters behind it (RFC 9110, section 8.3.1).
    pub fn parse(text: &str) -> Option<Self> {
        if !text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
            return None;
        }
        let essence = text.split(';').next()?.trim().to_ascii_lowercase();
        let (kind, subtype) = essence.split_once('/')?;
        (is_token(kind) && is_token(subtype)).then_some(Self(essence))
    }

    /// What a document of this type is; `None` for what is neither a PDF nor sound nor film.
    pub fn content_type(&self) -> Option<ContentType> {
        match self.0.split_once('/')? {
            ("application", "pdf" | "x-pdf") => Some(ContentType::Pdf),
            ("audio", _) | ("application", "ogg") => Some(ContentType::Audio),
            ("video", _) | ("application", "mp4") => Some(ContentType::Video),
            _ => None,
        }
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn becomes(text: &str) -> Option<ContentType> {
        MediaType::parse(text)?.content_type()
    }

    #[test]
    fn pdfs_sound_and_film_are_taken_however_they_are_spelled() {
        assert_eq!(becomes("application/pdf"), Some(ContentType::Pdf));
        assert_eq!(becomes("Application/PDF; version=1.7"), Some(ContentType::Pdf));
        assert_eq!(becomes("audio/ogg; codecs=opus"), Some(ContentType::Audio));
        assert_eq!(becomes("video/mp4"), Some(ContentType::Video));
        assert_eq!(becomes("application/mp4"), Some(ContentType::Video));
    }

    #[test]
    fn nothing_else_is() {
        for other in
            ["", "pdf", "audio/", "/mp4", "audio", "text/html", "image/png", "audio/x y", "audio/a\r\nx: y"]
        {
            assert_eq!(becomes(other), None, "{other:?}");
        }
    }
}
