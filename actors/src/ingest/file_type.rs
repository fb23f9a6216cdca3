//! The type of a file by its first bytes, whatever its name, its sender or its server say of it.

/// Bytes that are read from the start of a file to detect its type.
pub const HEAD_BYTES: usize = 4096;
/// A PDF's signature may follow other bytes within this many (ISO 32000, annex H).
const PDF_SIGNATURE_BYTES: usize = 1024;

/// The type of a file, as far as ingest has to tell types apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A PDF, by its signature.
    Pdf,
    /// A format that holds audio only.
    Audio,
    /// A format that holds video, with or without audio.
    Video,
    /// A container that holds either: its first bytes do not say which.
    AudioOrVideo,
}

/// Detects the type of a file; returns `None` for a file of any other type.
pub fn detect(head: &[u8]) -> Option<FileType> {
    if is_pdf(head) { Some(FileType::Pdf) } else { detect_at_start(head) }
}

/// Detects the type by a signature at the very start alone. For bytes that were sent as a page: an
/// article may quote a signature further on.
pub fn detect_at_start(head: &[u8]) -> Option<FileType> {
    detect_by_signature(head).or_else(|| detect_container(head)).or_else(|| detect_stream(head))
}

/// Returns whether bytes that were sent as text are not text: they contain the character NUL.
pub fn is_binary(head: &[u8], charset: Option<&str>) -> bool {
    // Text in UTF-16 contains NUL too.
    let is_utf16 = charset.is_some_and(|charset| charset.to_ascii_lowercase().starts_with("utf-16"));
    let has_byte_order_mark = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    // Old pages have a stray NUL now and then.
    let is_markup = head.trim_ascii_start().starts_with(b"<");
    !is_utf16 && !has_byte_order_mark && !is_markup && head.iter().take(HEAD_BYTES).any(|byte| *byte == 0)
}

fn is_pdf(head: &[u8]) -> bool {
    head.get(..head.len().min(PDF_SIGNATURE_BYTES)).is_some_and(|head| contains(head, b"%PDF-"))
}

/// Detects formats with a signature at their start.
fn detect_by_signature(head: &[u8]) -> Option<FileType> {
    const SIGNATURES: &[(&[u8], FileType)] = &[
        (b"%PDF-", FileType::Pdf),
        (b"ID3\x02", FileType::Audio),
        (b"ID3\x03", FileType::Audio),
        (b"ID3\x04", FileType::Audio),
        (b"fLaC", FileType::Audio),
        (b"#!AMR", FileType::Audio),
        (b".snd", FileType::Audio),
        (b"caff\x00\x01", FileType::Audio),
        (b"wvpk", FileType::Audio),
        (b"FLV\x01", FileType::Video),
        (b"\x00\x00\x01\xba", FileType::Video),
        (b"\x00\x00\x01\xb3", FileType::Video),
        // Advanced Systems Format: wma and wmv.
        (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", FileType::AudioOrVideo),
        // EBML: Matroska and WebM.
        (b"\x1a\x45\xdf\xa3", FileType::AudioOrVideo),
    ];
    let found = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature));
    found.map(|(_, file_type)| *file_type)
}

/// Detects container formats, whose signature follows a size: RIFF, IFF, Ogg, and the family of MP4.
fn detect_container(head: &[u8]) -> Option<FileType> {
    let (first, kind) = (head.get(..4)?, head.get(8..12)?);
    match (first, kind) {
        (b"RIFF" | b"RF64" | b"BW64", b"WAVE") | (b"FORM", b"AIFF" | b"AIFC") => Some(FileType::Audio),
        (b"RIFF", b"AVI ") => Some(FileType::Video),
        // Ogg is one container for both, and its first pages name the codecs.
        (b"OggS", _) => Some(if contains(head, b"theora") { FileType::Video } else { FileType::Audio }),
        // The size before these signatures begins with a zero byte; text does not.
        ([1..=u8::MAX, ..], _) => None,
        _ => match (head.get(4..8)?, kind) {
            (b"ftyp", b"M4A " | b"M4B " | b"M4P " | b"F4A " | b"F4B ") => Some(FileType::Audio),
            // Image formats use the same container.
            (b"ftyp", b"heic" | b"heix" | b"heim" | b"mif1" | b"msf1" | b"avif" | b"avis" | b"crx ") => None,
            (b"ftyp", _) => Some(FileType::AudioOrVideo),
            (b"moov" | b"mdat" | b"wide", _) => Some(FileType::AudioOrVideo),
            _ => None,
        },
    }
}

/// Detects formats that consist of frames alone: MPEG audio, AAC, and transport streams.
fn detect_stream(head: &[u8]) -> Option<FileType> {
    match head {
        [0xff, second, third, ..] if second & 0xe0 == 0xe0 => {
            let (version, layer) = (second >> 3 & 3, second >> 1 & 3);
            let (rate, frequency) = (third >> 4, third >> 2 & 3);
            let aac = second & 0xf6 == 0xf0;
            // Layer I is left out: hardly anything plays it, and its frames begin like the byte order mark of UTF-16.
            let mpeg = version != 1 && matches!(layer, 1 | 2) && !matches!(rate, 0 | 15) && frequency != 3;
            (aac || mpeg).then_some(FileType::Audio)
        }
        // An MPEG transport stream has packets of 188 bytes, each of which begins with this byte; one alone is the letter G.
        [0x47, ..] if head.get(188) == Some(&0x47) && head.get(376) == Some(&0x47) => Some(FileType::Video),
        _ => None,
    }
}

fn contains(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.windows(signature.len()).any(|window| window == signature)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Covers the threat table (row U4).
    #[test]
    fn file_type_is_detected_by_first_bytes() {
        let files = [
            (&b"%PDF-1.7\n"[..], FileType::Pdf),
            (b"\n\n<junk>%PDF-1.4", FileType::Pdf),
            (b"RIFF\x24\x00\x00\x00WAVEfmt ", FileType::Audio),
            (b"RIFF\x24\x00\x00\x00AVI LIST", FileType::Video),
            (b"ID3\x04\x00", FileType::Audio),
            (b"\xff\xfb\x90\x00", FileType::Audio),
            (b"\xff\xf1\x50\x80", FileType::Audio),
            (b"fLaC\x00\x00", FileType::Audio),
            (b"OggS\x00\x02\x00\x00\x00\x00OpusHead", FileType::Audio),
            (b"OggS\x00\x02\x00\x00\x00\x00\x80theora", FileType::Video),
            (b"\x00\x00\x00\x20ftypM4A \x00\x00", FileType::Audio),
            (b"\x00\x00\x00\x20ftypisom\x00\x00", FileType::AudioOrVideo),
            (b"\x1a\x45\xdf\xa3\x01\x00", FileType::AudioOrVideo),
        ];
        for (head, expected) in files {
            assert_eq!(detect(head), Some(expected), "{head:?}");
        }
    }

    /// Covers the threat table (row U4).
    #[test]
    fn files_of_other_types_are_not_detected() {
        for other in [
            &b""[..],
            b"<!doctype html><p>not a PDF</p>",
            b"PK\x03\x04\x14\x00\x00\x00",
            b"\x7fELF\x02\x01\x01\x00",
            b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
            b"\x00\x00\x00\x20ftypheic\x00\x00",
            // UTF-16 with its byte order mark.
            b"\xff\xfeH\x00i\x00",
            b"GGGG",
            b"plain words, that say nothing of what they are",
            b"The wide road",
            b"ID3 is a format of tags",
        ] {
            assert_eq!(detect(other), None, "{other:?}");
        }
    }

    #[test]
    fn page_that_quotes_a_signature_is_not_a_file() {
        assert_eq!(detect_at_start(b"<title>What %PDF- means</title>"), None);
        assert_eq!(detect_at_start(b"%PDF-1.4"), Some(FileType::Pdf));
    }

    proptest! {
        #[test]
        fn any_bytes_are_accepted(head in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = detect(&head);
        }

        #[test]
        fn text_is_never_detected_as_a_file(words in "[A-Za-z<#][ A-Za-z<>/]{0,300}") {
            prop_assert_eq!(detect(words.as_bytes()), None);
        }
    }

    #[test]
    fn binary_bytes_are_distinguished_from_text() {
        for bytes in [
            &b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"[..],
            b"PK\x03\x04\x14\x00\x00\x00",
            b"GIF89a\x01\x00\x01\x00",
        ] {
            assert!(is_binary(bytes, Some("utf-8")), "{bytes:?}");
        }
        let utf16 = b"\xff\xfe<\x00p\x00>\x00";
        assert!(!is_binary(utf16, None) && !is_binary(&utf16[2..], Some("UTF-16LE")));
        assert!(!is_binary(b"\r\n<html>an old page\x00</html>", None));
        assert!(!is_binary("grün".as_bytes(), None) && !is_binary(b"", None));
    }
}
