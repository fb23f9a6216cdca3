//! Decodes text strings of a PDF (ISO 32000-1, 7.9.2.2): UTF-16 or UTF-8 with a byte order mark, otherwise PDFDocEncoding.

/// Decodes a string; invalid characters are omitted.
pub fn decode_text(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        plain => plain.iter().filter_map(|byte| document_char(*byte)).collect(),
    }
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    let chars = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)));
    let mut kept = String::new();
    let mut escaped = false;
    // A half of a surrogate pair is an error here and is omitted.
    for c in chars.flatten() {
        // Two escape characters enclose a language code.
        escaped ^= c == '\u{1b}';
        if !escaped && c != '\u{1b}' {
            kept.push(c);
        }
    }
    kept
}

/// Decodes a byte in PDFDocEncoding (ISO 32000-1, D.3), which differs from Latin-1 in two ranges.
fn document_char(byte: u8) -> Option<char> {
    const FROM_0X18: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
    const FROM_0X80: [char; 33] = [
        '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™', 'ﬁ',
        'ﬂ', 'Ł', 'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', '\u{fffd}', '€',
    ];
    let known = match byte {
        0x18..=0x1f => FROM_0X18.get(usize::from(byte - 0x18)).copied(),
        0x80..=0xa0 => FROM_0X80.get(usize::from(byte - 0x80)).copied(),
        other => Some(char::from(other)),
    };
    known.filter(|c| *c != char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_string_encoding_is_decoded() {
        assert_eq!(decode_text(b"\xfe\xff\0\xdc\x20\xac"), "Ü€");
        assert_eq!(decode_text(b"\xff\xfe\xdc\0"), "Ü");
        assert_eq!(decode_text("\u{feff}Ü".as_bytes()), "Ü");
        assert_eq!(decode_text(b"\xdc \x84 \xa0"), "Ü — €");
    }

    #[test]
    fn language_escape_is_not_text() {
        assert_eq!(decode_text(b"\xfe\xff\0\x1b\0e\0n\0\x1b\0A"), "A");
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in any::<Vec<u8>>()) {
            decode_text(&bytes);
        }
    }
}
