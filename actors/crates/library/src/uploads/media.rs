//! Media types of uploads, and the type of document that each becomes.

use std::fmt;

use values::kind::ContentType;

/// A media type in lower case, without its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaType(String);

impl MediaType {
    /// Parses `type/subtype` with optional parameters after it (RFC 9110, section 8.3.1), which are dropped.
    pub fn parse(text: &str) -> Option<Self> {
        // The parameters are checked too, although they are dropped below: the whole text is stored and sent as a header, so it must
        // not contain line breaks.
        if !text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) {
            return None;
        }
        let essence = text.split(';').next()?.trim().to_ascii_lowercase();
        let (kind, subtype) = essence.split_once('/')?;
        (is_token(kind) && is_token(subtype)).then_some(Self(essence))
    }

    /// Returns the type of a document that is made from such a file; `None` if it is neither a PDF nor audio nor video.
    pub fn content_type(&self) -> Option<ContentType> {
        match self.0.split_once('/')? {
            ("application", "pdf" | "x-pdf") => Some(ContentType::Pdf),
            // Ogg and MP4 are containers that are registered under `application` too (RFC 5334, RFC 4337).
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

    fn content_type_of(text: &str) -> Option<ContentType> {
        MediaType::parse(text)?.content_type()
    }

    #[test]
    fn pdf_audio_and_video_types_are_accepted() {
        assert_eq!(content_type_of("application/pdf"), Some(ContentType::Pdf));
        assert_eq!(content_type_of("Application/PDF; version=1.7"), Some(ContentType::Pdf));
        assert_eq!(content_type_of("audio/ogg; codecs=opus"), Some(ContentType::Audio));
        assert_eq!(content_type_of("video/mp4"), Some(ContentType::Video));
        assert_eq!(content_type_of("application/mp4"), Some(ContentType::Video));
    }

    #[test]
    fn other_types_are_refused() {
        for other in
            ["", "pdf", "audio/", "/mp4", "audio", "text/html", "image/png", "audio/x y", "audio/a\r\nx: y"]
        {
            assert_eq!(content_type_of(other), None, "{other:?}");
        }
    }
}
