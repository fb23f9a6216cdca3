//! What a file really is, by its first bytes: whatever its name, its sender or its server say of it.

/// What is read from the beginning of a file to tell.
pub const HEAD: usize = 4096;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// A PDF.
    Pdf,
    /// Sound.
    Audio,
    /// Film.
    Video,
    /// A container that holds the one or the other: its first bytes do not say which.
    AudioOrVideo,
}

/// Tells it, or `None` for anything that is neither of these.
pub fn nature(head: &[u8]) -> Option<Nature> {
    if is_pdf(head) { Some(Nature::Pdf) } else { at_once(head) }
}

/// Tells it by the very first bytes alone: of what was sent as a page, which may speak of such marks further on.
pub fn at_once(head: &[u8]) -> Option<Nature> {
    marked(head).or_else(|| boxed(head)).or_else(|| streamed(head))
}

/// Whether this is no text, whatever it was sent as: no text has the character NUL, but in UTF-16, which begins with a mark
/// or is said to be that. Old pages have one now and then: what begins as markup does is a page.
pub fn is_no_text(head: &[u8], charset: Option<&str>) -> bool {
    let wide = charset.is_some_and(|charset| charset.to_ascii_lowercase().starts_with("utf-16"));
    let marked = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    let markup = head.trim_ascii_start().starts_with(b"<");
    !wide && !marked && !markup && head.iter().take(HEAD).any(|byte| *byte == 0)
}

/// A PDF's mark may stand behind other bytes (ISO 32000, annex H: within the first 1024).
fn is_pdf(head: &[u8]) -> bool {
    head.get(..head.len().min(1024)).is_some_and(|head| find(head, b"%PDF-").is_some())
}

/// Formats that begin with a mark of their own.
fn marked(head: &[u8]) -> Option<Nature> {
    const MARKS: &[(&[u8], Nature)] = &[
        (b"%PDF-", Nature::Pdf),
        (b"ID3\x02", Nature::Audio),
        (b"ID3\x03", Nature::Audio),
        (b"ID3\x04", Nature::Audio),
        (b"fLaC", Nature::Audio),
        (b"#!AMR", Nature::Audio),
        (b".snd", Nature::Audio),
        (b"caff\x00\x01", Nature::Audio),
        (b"wvpk", Nature::Audio),
        (b"FLV\x01", Nature::Video),
        (b"\x00\x00\x01\xba", Nature::Video),
        (b"\x00\x00\x01\xb3", Nature::Video),
        // Advanced Systems Format: wma and wmv.
        (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", Nature::AudioOrVideo),
        // EBML: Matroska and WebM.
        (b"\x1a\x45\xdf\xa3", Nature::AudioOrVideo),
    ];
    let mark = MARKS.iter().find(|(mark, _)| head.starts_with(mark));
    mark.map(|(_, nature)| *nature)
}

/// Formats whose mark stands within a first frame: RIFF, IFF, Ogg, and the family of MP4.
fn boxed(head: &[u8]) -> Option<Nature> {
    let (first, kind) = (head.get(..4)?, head.get(8..12)?);
    match (first, kind) {
        (b"RIFF" | b"RF64" | b"BW64", b"WAVE") | (b"FORM", b"AIFF" | b"AIFC") => Some(Nature::Audio),
        (b"RIFF", b"AVI ") => Some(Nature::Video),
        (b"OggS", _) => Some(if find(head, b"theora").is_some() { Nature::Video } else { Nature::Audio }),
        // A size goes before these marks; words begin with no such byte.
        ([1..=u8::MAX, ..], _) => None,
        _ => match (head.get(4..8)?, kind) {
            (b"ftyp", b"M4A " | b"M4B " | b"M4P " | b"F4A " | b"F4B ") => Some(Nature::Audio),
            // Pictures stand in the same boxes.
            (b"ftyp", b"heic" | b"heix" | b"heim" | b"mif1" | b"msf1" | b"avif" | b"avis" | b"crx ") => None,
            (b"ftyp", _) => Some(Nature::AudioOrVideo),
            (b"moov" | b"mdat" | b"wide", _) => Some(Nature::AudioOrVideo),
            _ => None,
        },
    }
}

/// Formats that are nothing but frames: MPEG audio, AAC, and transport streams.
fn streamed(head: &[u8]) -> Option<Nature> {
    match head {
        [0xff, second, third, ..] if second & 0xe0 == 0xe0 => {
            let (version, layer) = (second >> 3 & 3, second >> 1 & 3);
            let (rate, frequency) = (third >> 4, third >> 2 & 3);
            let aac = second & 0xf6 == 0xf0;
            // The first layer is left out: it is played nowhere, and its frames look like the mark of UTF-16.
            let mpeg = version != 1 && matches!(layer, 1 | 2) && !matches!(rate, 0 | 15) && frequency != 3;
            (aac || mpeg).then_some(Nature::Audio)
        }
        [0x47, ..] if head.get(188) == Some(&0x47) && head.get(376) == Some(&0x47) => Some(Nature::Video),
        _ => None,
    }
}

fn find(within: &[u8], mark: &[u8]) -> Option<usize> {
    within.windows(mark.len()).position(|window| window == mark)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of the threat table (row U4).
    #[test]
    fn files_are_what_their_first_bytes_say() {
        let of = [
            (&b"%PDF-1.7\n"[..], Nature::Pdf),
            (b"\n\n<junk>%PDF-1.4", Nature::Pdf),
            (b"RIFF\x24\x00\x00\x00WAVEfmt ", Nature::Audio),
            (b"RIFF\x24\x00\x00\x00AVI LIST", Nature::Video),
            (b"ID3\x04\x00", Nature::Audio),
            (b"\xff\xfb\x90\x00", Nature::Audio),
            (b"\xff\xf1\x50\x80", Nature::Audio),
            (b"fLaC\x00\x00", Nature::Audio),
            (b"OggS\x00\x02\x00\x00\x00\x00OpusHead", Nature::Audio),
            (b"OggS\x00\x02\x00\x00\x00\x00\x80theora", Nature::Video),
            (b"\x00\x00\x00\x20ftypM4A \x00\x00", Nature::Audio),
            (b"\x00\x00\x00\x20ftypisom\x00\x00", Nature::AudioOrVideo),
            (b"\x1a\x45\xdf\xa3\x01\x00", Nature::AudioOrVideo),
        ];
        for (head, expected) in of {
            assert_eq!(nature(head), Some(expected), "{head:?}");
        }
    }

    /// Of the threat table (row U4).
    #[test]
    fn other_files_are_nothing_of_the_kind() {
        for other in [
            &b""[..],
            b"<!doctype html><p>not a PDF</p>",
            b"PK\x03\x04\x14\x00\x00\x00",
            b"\x7fELF\x02\x01\x01\x00",
            b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
            b"\x00\x00\x00\x20ftypheic\x00\x00",
            // UTF-16 with its mark.
            b"\xff\xfeH\x00i\x00",
            b"GGGG",
            b"plain words, that say nothing of what they are",
            b"The wide road",
            b"ID3 is a format of tags",
        ] {
            assert_eq!(nature(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_page_that_speaks_of_a_mark_is_a_page() {
        assert_eq!(at_once(b"<title>What %PDF- means</title>"), None);
        assert_eq!(at_once(b"%PDF-1.4"), Some(Nature::Pdf));
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_at(head in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = nature(&head);
        }

        #[test]
        fn words_are_never_taken_for_a_file(words in "[A-Za-z<#][ A-Za-z<>/]{0,300}") {
            prop_assert_eq!(nature(words.as_bytes()), None);
        }
    }

    #[test]
    fn text_is_told_from_what_was_only_sent_as_text() {
        for bytes in [
            &b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"[..],
            b"PK\x03\x04\x14\x00\x00\x00",
            b"GIF89a\x01\x00\x01\x00",
        ] {
            assert!(is_no_text(bytes, Some("utf-8")), "{bytes:?}");
        }
        let marked = b"\xff\xfe<\x00p\x00>\x00";
        assert!(!is_no_text(marked, None) && !is_no_text(&marked[2..], Some("UTF-16LE")));
        assert!(!is_no_text(b"\r\n<html>an old page\x00</html>", None));
        assert!(!is_no_text("grün".as_bytes(), None) && !is_no_text(b"", None));
    }
}
