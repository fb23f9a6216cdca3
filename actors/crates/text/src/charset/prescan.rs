//! Finds the encoding that a text declares at its start: `<meta charset>`, `<meta http-equiv=content-type>` or an XML declaration. Follows
//! WHATWG HTML, "prescan a byte stream to determine its encoding", with 4 KiB instead of 1 KiB, because some pages have much text before
//! their first meta element.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// Length of the start in which a declaration counts.
const MAX_PRESCAN_BYTES: usize = 4096;

/// Returns the declared encoding, if it is known.
pub(super) fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..MAX_PRESCAN_BYTES).unwrap_or(bytes);
    // A declaration in UTF-16 means UTF-16, whatever encoding it names.
    if start.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if start.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    DeclarationScanner { rest: start }.meta().or_else(|| of_xml(start))
}

/// Returns the encoding of `<?xml version="1.0" encoding="...">`, which must be at the very start.
fn of_xml(start: &[u8]) -> Option<&'static Encoding> {
    let mut scan = DeclarationScanner { rest: start.strip_prefix(b"<?xml")? };
    let end = scan.rest.iter().position(|byte| *byte == b'>')?;
    // Attributes after the end of the declaration belong to elements.
    scan.rest = scan.rest.get(..end)?;
    while let Some((name, value)) = scan.attribute() {
        if name == b"encoding" {
            return of_label(&value);
        }
    }
    None
}

fn of_label(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label_no_replacement(label)?;
    // The label was read as ASCII, so the text is not UTF-16. For `x-user-defined` the standard prescribes windows-1252.
    Some(match encoding {
        _ if encoding == UTF_16LE || encoding == UTF_16BE => UTF_8,
        _ if encoding == X_USER_DEFINED => WINDOWS_1252,
        _ => encoding,
    })
}

/// Reads the start of a text as the prescan of the standard does: without a tree, and byte by byte.
struct DeclarationScanner<'a> {
    rest: &'a [u8],
}

impl DeclarationScanner<'_> {
    /// Returns the encoding of the first meta element that declares a known one.
    fn meta(&mut self) -> Option<&'static Encoding> {
        while !self.rest.is_empty() {
            // The order of these cases is the standard's: a comment is also a `<!`, and a meta element is also a tag.
            if self.rest.starts_with(b"<!--") {
                self.skip_comment();
            } else if self.is_meta() {
                self.skip(b"<meta".len());
                if let Some(encoding) = self.meta_attributes() {
                    return Some(encoding);
                }
            } else if self.is_tag() {
                self.skip_while(|byte| !byte.is_ascii_whitespace() && byte != b'>');
                // Attributes are read, not skipped to the next `>`: a quoted value may contain `>` or the
                // text of a meta element.
                while self.attribute().is_some() {}
            } else if matches!(self.rest, [b'<', b'!' | b'/' | b'?', ..]) {
                self.skip_while(|byte| byte != b'>');
            } else {
                self.skip(1);
            }
        }
        None
    }

    fn is_meta(&self) -> bool {
        match self.rest {
            [b'<', m, e, t, a, end, ..] => {
                [m, e, t, a].into_iter().map(u8::to_ascii_lowercase).eq(*b"meta")
                    && (end.is_ascii_whitespace() || *end == b'/')
            }
            _ => false,
        }
    }

    fn is_tag(&self) -> bool {
        match self.rest {
            [b'<', b'/', letter, ..] | [b'<', letter, ..] => letter.is_ascii_alphabetic(),
            _ => false,
        }
    }

    /// Returns the encoding in `charset`, or in `content` if `http-equiv` is `content-type`.
    fn meta_attributes(&mut self) -> Option<&'static Encoding> {
        let (mut charset, mut content, mut is_content_type) = (None, None, false);
        while let Some((name, value)) = self.attribute() {
            match name.as_slice() {
                // Of attributes with the same name the first counts, as in the HTML parser.
                b"charset" if charset.is_none() => charset = Some(value),
                b"content" if content.is_none() => content = Some(value),
                // `content` alone declares nothing: a description may contain the word charset.
                b"http-equiv" => is_content_type |= value == b"content-type",
                _ => {}
            }
        }
        match charset {
            Some(label) => of_label(&label),
            None if is_content_type => of_label(charset_in(&content?)?),
            None => None,
        }
    }

    /// Returns the next attribute of a tag, name and value in lower case; `None` at the end of the tag.
    fn attribute(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.skip_while(|byte| byte.is_ascii_whitespace() || byte == b'/');
        if matches!(self.rest, [] | [b'>', ..]) {
            return None;
        }
        // A name may begin with an equals sign.
        let first = self.take(1);
        let more = self.take_while(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'=' | b'/' | b'>'));
        let name = [first, more].concat().to_ascii_lowercase();
        self.skip_while(|byte| byte.is_ascii_whitespace());
        if !matches!(self.rest, [b'=', ..]) {
            return Some((name, Vec::new()));
        }
        self.skip(1);
        self.skip_while(|byte| byte.is_ascii_whitespace());
        Some((name, self.value().to_ascii_lowercase()))
    }

    fn value(&mut self) -> &[u8] {
        match self.rest {
            [quote @ (b'"' | b'\''), ..] => {
                let quote = *quote;
                self.skip(1);
                let end = self.rest.iter().position(|byte| *byte == quote).unwrap_or(self.rest.len());
                let value = self.take(end);
                // The closing quotation mark, or nothing at the end of the text.
                self.skip(1);
                value
            }
            _ => self.take_while(|byte| !byte.is_ascii_whitespace() && byte != b'>'),
        }
    }

    /// Skips a comment. Its end may share the hyphens with its beginning: `<!-->`.
    fn skip_comment(&mut self) {
        // Only `<!` is skipped, so that the two hyphens can belong to the end `-->` too.
        self.skip(b"<!".len());
        // A comment that is not closed hides the rest of the text.
        let end = self.rest.windows(3).position(|bytes| bytes == b"-->");
        self.skip(end.map_or(self.rest.len(), |end| end + 3));
    }
}

impl<'a> DeclarationScanner<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        self.rest = rest;
        bytes
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| !belongs(*byte)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn skip(&mut self, count: usize) {
        self.take(count);
    }

    fn skip_while(&mut self, belongs: impl Fn(u8) -> bool) {
        self.take_while(belongs);
    }
}

/// Returns the label in `text/html; charset=label` (WHATWG HTML, "extracting a character encoding from a meta element").
fn charset_in(content: &[u8]) -> Option<&[u8]> {
    let mut rest = content;
    loop {
        let at = rest.windows(b"charset".len()).position(|bytes| bytes == b"charset")?;
        // The word may also occur without an equals sign, as in `charsets`. Then the next one is searched.
        rest = rest.get(at + b"charset".len()..)?.trim_ascii_start();
        if let [b'=', value @ ..] = rest {
            return label_of(value.trim_ascii_start());
        }
    }
}

fn label_of(value: &[u8]) -> Option<&[u8]> {
    match value {
        [quote @ (b'"' | b'\''), label @ ..] => {
            // A quotation mark that is not closed gives no label, as the standard says: the part is then
            // as long as the whole.
            label.split(|byte| byte == quote).next().filter(|l| l.len() < label.len())
        }
        _ => value.split(|byte| byte.is_ascii_whitespace() || *byte == b';').next(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn declared(text: &str) -> Option<&'static str> {
        declared_encoding(text.as_bytes()).map(Encoding::name)
    }

    #[test]
    fn declarations_in_all_forms_are_found() {
        for (text, encoding) in [
            ("<meta charset=utf-8>", "UTF-8"),
            ("<!doctype html><html lang='a>b'><head><title>x</title><META  CharSet = 'KOI8-R' />", "KOI8-R"),
            ("<meta name=a content='charset=koi8-r'><meta charset=utf-8>", "UTF-8"),
            ("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", "Shift_JIS"),
            ("<meta content=\"text/html; charset = 'gb2312' \" http-equiv='CONTENT-TYPE'>", "GBK"),
            ("<meta http-equiv=content-type content='charsets; charset=big5'>", "Big5"),
            ("<!-- <meta charset=utf-8> --><meta/charset=latin1>", "windows-1252"),
            ("<!--><meta charset=euc-kr>", "EUC-KR"),
            ("<meta charset=bogus><meta charset=utf-8>", "UTF-8"),
            ("<meta charset=utf-16>", "UTF-8"),
            ("<meta charset=x-user-defined>", "windows-1252"),
            ("<?xml version=\"1.0\" encoding=\"ISO-8859-2\"?><rss>", "ISO-8859-2"),
            ("<?xml version='1.0' encoding='utf-16'?><rss>", "UTF-8"),
            ("<?xml version='1.0'?><meta charset=koi8-r>", "KOI8-R"),
        ] {
            assert_eq!(declared(text), Some(encoding), "{text}");
        }
    }

    #[test]
    fn text_similar_to_a_declaration_is_ignored() {
        for text in [
            "",
            "<",
            "<meta",
            "<meta charset",
            "<meta charset=>",
            "<metal charset=utf-8>",
            "<p>charset=utf-8</p>",
            "<a title='<meta charset=utf-8>'>",
            "<!-- <meta charset=utf-8>",
            "<? <meta charset=utf-8 ",
            "<meta content='text/html; charset=utf-8'>",
            "<meta http-equiv=content-type content=\"charset='utf-8\">",
            " <?xml version='1.0' encoding='koi8-r'?>",
        ] {
            assert_eq!(declared(text), None, "{text}");
        }
    }

    #[test]
    fn utf_16_is_detected_by_its_xml_declaration() {
        assert_eq!(declared_encoding(b"<\0?\0x\0m\0l\0"), Some(UTF_16LE));
        assert_eq!(declared_encoding(b"\0<\0?\0x\0m\0l"), Some(UTF_16BE));
    }

    #[test]
    fn declarations_beyond_the_first_4_kib_do_not_count() {
        assert_eq!(declared(&format!("{}<meta charset=koi8-r>", " ".repeat(4000))), Some("KOI8-R"));
        assert_eq!(declared(&format!("{}<meta charset=koi8-r>", " ".repeat(4090))), None);
    }

    proptest! {
        #[test]
        fn scan_of_any_start_ends(text in "(<meta|charset|=|'|\"|<!--|-->|>|<|/|;| |content|http-equiv|[a-z]){0,60}") {
            declared_encoding(text.as_bytes());
        }
    }
}
