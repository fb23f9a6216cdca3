//! Decodes bytes to text in their declared encoding, or else in a detected one.
//!
//! In this order, as in browsers (WHATWG HTML, "determining the character encoding"): a byte order mark, the charset of
//! `Content-Type`, a declaration at the start of the text. Without any, valid UTF-8 is UTF-8, and other encodings are guessed, with
//! the top-level domain as a hint. Invalid bytes become U+FFFD.

mod prescan;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8};

/// Length of the sample for detection, from the first byte that is not ASCII: detection is far slower than decoding.
const MAX_SAMPLE_BYTES: usize = 128 * 1024;

/// Decodes bytes, without their byte order mark. `declared` is the charset of `Content-Type`, `host` the host that sent them.
pub fn decode(bytes: &[u8], declared: Option<&str>, host: &str) -> String {
    let encoding = Encoding::for_bom(bytes)
        .map(|(encoding, _)| encoding)
        // The few encodings that browsers refuse to decode count as none declared.
        .or_else(|| Encoding::for_label_no_replacement(declared?.as_bytes()))
        .or_else(|| prescan::declared_encoding(bytes))
        .unwrap_or_else(|| guess(bytes, host));
    let (text, _) = encoding.decode_with_bom_removal(bytes);
    text.into_owned()
}

/// Decodes a file, which has no `Content-Type` and no host.
pub fn decode_file(bytes: &[u8]) -> String {
    decode(bytes, None, "")
}

fn guess(bytes: &[u8], host: &str) -> &'static Encoding {
    // ISO-2022-JP uses seven bits: it is detected by its escapes to two-byte characters and back.
    let escapes = |to: &[u8]| bytes.windows(to.len()).any(|window| window == to);
    if bytes.is_ascii() && escapes(b"\x1b$B") && escapes(b"\x1b(B") {
        return ISO_2022_JP;
    }
    // The whole text is checked, which costs little compared to decoding, and text in another encoding
    // is almost never valid UTF-8.
    if std::str::from_utf8(bytes).is_ok() {
        return UTF_8;
    }
    // The start of a page is often markup and scripts in ASCII, which say nothing about the encoding.
    let (_, non_ascii) = bytes.split_at_checked(Encoding::ascii_valid_up_to(bytes)).unwrap_or_default();
    let (sample, is_whole) =
        non_ascii.split_at_checked(MAX_SAMPLE_BYTES).map_or((non_ascii, true), |(start, _)| (start, false));
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, is_whole);
    detector.guess(top_level_domain(host), Utf8Detection::Allow)
}

/// Returns the last label of a host name in the form that the detector accepts: lower case letters, digits, hyphens.
fn top_level_domain(host: &str) -> Option<&[u8]> {
    let (_, last) = host.trim_end_matches('.').rsplit_once('.')?;
    // The last number of an IP address is not a domain.
    let plain = last.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !last.bytes().all(|byte| byte.is_ascii_digit());
    (plain && !last.is_empty()).then_some(last.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOST: &str = "example.com";

    #[test]
    fn byte_order_mark_overrides_every_declaration() {
        assert_eq!(decode(b"\xEF\xBB\xBFgr\xC3\xBCn", Some("windows-1252"), HOST), "grün");
        assert_eq!(decode(b"\xFF\xFEg\0\xFC\0", Some("utf-8"), HOST), "gü");
        assert_eq!(decode(b"\xFE\xFF\0g\0\xFC", None, HOST), "gü");
    }

    #[test]
    fn header_overrides_the_page() {
        let page = b"<meta charset=utf-8><p>gr\xFCn";

        assert_eq!(decode(page, Some("ISO-8859-1"), HOST), "<meta charset=utf-8><p>grün");
        assert_eq!(decode(b"\xEA\xF3\xF8\xEA\xE0", Some(" windows-1251 "), HOST), "кушка");
    }

    #[test]
    fn page_declaration_is_used_without_a_valid_header() {
        assert_eq!(
            decode(b"<meta charset=\"windows-1251\">\xCC\xE8\xF0", Some("nonsense"), HOST),
            "<meta charset=\"windows-1251\">Мир"
        );
        let xml = b"<?xml version='1.0' encoding='iso-8859-2'?><t>\xB1</t>";
        assert_eq!(decode(xml, None, HOST), "<?xml version='1.0' encoding='iso-8859-2'?><t>ą</t>");
    }

    #[test]
    fn kana_is_detected_for_any_host() {
        let page = "<p>これはひらがなで書かれたページです。さぎは水の中に立って魚を待っています。</p>";
        let (bytes, ..) = encoding_rs::SHIFT_JIS.encode(page);
        for host in [HOST, "127.0.0.1", "example.jp"] {
            assert_eq!(decode(&bytes, None, host), page, "{host}");
        }
    }

    #[test]
    fn iso_2022_jp_is_detected_by_its_escapes() {
        let bytes = b"<p>\x1b$B$3$s$K$A$O\x1b(B</p>";
        assert_eq!(decode(bytes, None, "127.0.0.1"), "<p>こんにちは</p>");
    }

    #[test]
    fn utf_8_needs_no_declaration() {
        assert_eq!(decode("Żółć, 漢字, 🐜".as_bytes(), None, HOST), "Żółć, 漢字, 🐜");
        assert_eq!(decode(b"", None, ""), "");
    }

    #[test]
    fn encoding_of_text_without_declaration_is_detected() {
        for (encoding, text, host) in [
            (
                encoding_rs::WINDOWS_1251,
                "Съешь же ещё этих мягких французских булок, да выпей чаю.",
                "example.ru",
            ),
            (encoding_rs::SHIFT_JIS, "いろはにほへと ちりぬるを わかよたれそ つねならむ", "example.jp"),
            (encoding_rs::GBK, "天地玄黄,宇宙洪荒。日月盈昃,辰宿列张。寒来暑往,秋收冬藏。", "example.cn"),
            (
                encoding_rs::WINDOWS_1252,
                "Le cœur déçu mais l’âme plutôt naïve, Louÿs rêva de crapaüter",
                "example.fr",
            ),
        ] {
            let page = format!("{}<p>{text}</p>", "<p>ascii first</p>".repeat(20_000));
            let (bytes, _, _) = encoding.encode(&page);

            assert_eq!(decode(&bytes, None, host), page, "{}", encoding.name());
        }
    }

    #[test]
    fn any_host_is_accepted() {
        for host in
            ["", ".", "localhost", "127.0.0.1", "[::1]", "Example.COM", "a.xn--p1ai", "a.b_c", "example.de."]
        {
            assert_eq!(decode(b"gr\xFCn", None, host), "grün", "{host}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_decoded(bytes: Vec<u8>, declared in proptest::option::of("[a-z0-9-]{1,12}"), host in "[ -~]{0,12}") {
            decode(&bytes, declared.as_deref(), &host);
        }
    }
}
