//! The media type under which a recording is sent, by its first bytes: browsers refuse recordings of other types.

/// Bytes from the start of a file that are enough to tell its type.
const HEAD_BYTES: usize = 64;

/// Returns the media type of a recording by its first bytes; `application/octet-stream` for a type that no browser plays. `is_video`
/// decides where a container holds either.
pub fn media_type_of(head: &[u8], is_video: bool) -> &'static str {
    let head = head.get(..head.len().min(HEAD_BYTES)).unwrap_or_default();
    let either = |video: &'static str, audio: &'static str| if is_video { video } else { audio };
    match head {
        [b'I', b'D', b'3', ..] => "audio/mpeg",
        // The sync word of MPEG audio and, with layer 0, of AAC (ADTS).
        [0xff, second, ..] if second & 0xf6 == 0xf0 => "audio/aac",
        [0xff, second, ..] if second & 0xe0 == 0xe0 => "audio/mpeg",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        [b'O', b'g', b'g', b'S', ..] => either("video/ogg", "audio/ogg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => "audio/wav",
        [0x1a, 0x45, 0xdf, 0xa3, ..] => either("video/webm", "audio/webm"),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => either("video/mp4", "audio/mp4"),
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_told_by_their_first_bytes() {
        assert_eq!(media_type_of(b"ID3\x04", false), "audio/mpeg");
        assert_eq!(media_type_of(b"\xff\xfb\x90\x00", false), "audio/mpeg");
        assert_eq!(media_type_of(b"\xff\xf1\x50\x80", false), "audio/aac");
        assert_eq!(media_type_of(b"RIFF\x24\x00\x00\x00WAVEfmt ", false), "audio/wav");
        assert_eq!(media_type_of(b"\x00\x00\x00\x20ftypisom", true), "video/mp4");
        assert_eq!(media_type_of(b"\x00\x00\x00\x20ftypM4A ", false), "audio/mp4");
        assert_eq!(media_type_of(b"\x1a\x45\xdf\xa3\x9f", true), "video/webm");
    }

    #[test]
    fn other_bytes_have_no_type() {
        for other in [&b"<html><script>"[..], b"", b"%PDF-1.7"] {
            assert_eq!(media_type_of(other, true), "application/octet-stream");
        }
    }
}
