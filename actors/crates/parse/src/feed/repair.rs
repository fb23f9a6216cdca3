//! Repairs common faults of feeds that cannot be parsed: characters of another encoding, a bare `&`, text before the first
//! element, a missing end, numbers as ids.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use serde_json::{Value, from_slice, to_vec};

/// Elements of HTML without an end tag, of those that occur in texts.
const VOID_ELEMENTS: [&str; 5] = ["br", "hr", "img", "wbr", "input"];
/// The length of the longest entity, `&CounterClockwiseContourIntegral;`, in bytes.
const MAX_ENTITY_NAME_BYTES: usize = 33;

/// Converts UTF-16 with a byte order mark to UTF-8; returns other bytes unchanged.
pub fn decode_bom(bytes: &[u8]) -> Cow<'_, [u8]> {
    match Encoding::for_bom(bytes) {
        Some((encoding, mark)) if encoding == UTF_8 => Cow::Borrowed(bytes.get(mark..).unwrap_or_default()),
        Some((utf_16, _)) => {
            let (text, _) = utf_16.decode_with_bom_removal(bytes);
            // The parser would follow the declaration, which names UTF-16.
            Cow::Owned(without_declaration(&text).as_bytes().to_vec())
        }
        None => Cow::Borrowed(bytes),
    }
}

/// Repairs a feed; `None` if the bytes are not a feed.
pub fn repair(bytes: &[u8]) -> Option<Vec<u8>> {
    if bytes.trim_ascii_start().first() == Some(&b'{') { json(bytes) } else { xml(bytes) }
}

fn json(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut feed: Value = from_slice(bytes).ok()?;
    for item in feed.get_mut("items")?.as_array_mut()? {
        if let Some(id) = item.get_mut("id").filter(|id| id.is_number()) {
            // JSON Feed has strings as ids, and asks readers to convert numbers (JSON Feed 1.1, `id`).
            *id = Value::String(id.to_string());
        }
    }
    to_vec(&feed).ok()
}

fn xml(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = decode(bytes);
    // Text before the first element, such as an error message of the server, is dropped.
    let begin = ["<rss", "<feed", "<rdf:RDF"].iter().filter_map(|tag| text.find(tag)).min()?;
    let text = text.get(begin..)?;
    let ends = ["</rss>", "</feed>", "</rdf:RDF>"];
    // The last end tag counts: texts may contain one too.
    let whole = match ends.iter().filter_map(|end| Some(text.rfind(end)? + end.len())).max() {
        Some(end) => text.get(..end)?.to_owned(),
        None => close_truncated(text)?,
    };
    Some(escape_ampersands(&whole).into_bytes())
}

/// Elements of text in which feeds have unescaped markup.
const TEXT_ELEMENTS: [&str; 4] = ["description", "content:encoded", "summary", "itunes:summary"];

/// Escapes unescaped markup in texts; `None` if there is none.
pub fn escape_markup(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut text = std::str::from_utf8(bytes).ok()?.to_owned();
    for name in TEXT_ELEMENTS {
        text = escape_element(&text, name);
    }
    (text.as_bytes() != bytes).then(|| text.into_bytes())
}

fn escape_element(text: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let (mut whole, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, tag, words, behind)) = next_element(rest, &open, &close) {
        whole.push_str(before);
        whole.push_str(tag);
        // Markup in CDATA is text already.
        if words.trim_start().starts_with("<![CDATA[") {
            whole.push_str(words);
        } else {
            // Entities are left alone, so that `&amp;` is not escaped twice.
            whole.push_str(&words.replace('<', "&lt;"));
        }
        whole.push_str(&close);
        rest = behind;
    }
    whole + rest
}

/// Returns the text before the next such element, its start tag, its content, and the text after it.
fn next_element<'a>(text: &'a str, open: &str, close: &str) -> Option<(&'a str, &'a str, &'a str, &'a str)> {
    let is_tag = |at: &usize| {
        text.get(at + open.len()..).is_some_and(|rest| {
            // An empty element has no end tag: the next one would belong to another entry.
            let is_empty = rest.split_once('>').is_some_and(|(tag, _)| tag.ends_with('/'));
            !is_empty && rest.starts_with(|c: char| c == '>' || c.is_whitespace())
        })
    };
    let begin = text.match_indices(open).map(|(at, _)| at).find(is_tag)?;
    let (before, rest) = text.split_at_checked(begin)?;
    let (tag, rest) = rest.split_at_checked(rest.find('>')? + 1)?;
    let (words, behind) = rest.split_once(close)?;
    Some((before, tag, words, behind))
}

/// Decodes bytes in the encoding that they declare; invalid bytes of UTF-8 are decoded as windows-1252.
fn decode(bytes: &[u8]) -> String {
    let head = String::from_utf8_lossy(bytes.get(..200).unwrap_or(bytes)).into_owned();
    let label = head.split_once("encoding=").and_then(|(_, rest)| rest.get(1..)?.split(['"', '\'']).next());
    // A feed that declares UTF-8 and is not is decoded like one that declares nothing.
    let named = label.and_then(|label| Encoding::for_label(label.as_bytes())).filter(|named| *named != UTF_8);
    if let Some(named) = named {
        return named.decode_without_bom_handling(bytes).0.into_owned();
    }
    let mut text = String::with_capacity(bytes.len());
    // Texts pasted from other programs mix windows-1252 into UTF-8, so each invalid part is decoded by itself.
    for part in bytes.utf8_chunks() {
        text.push_str(part.valid());
        text.push_str(&WINDOWS_1252.decode_without_bom_handling(part.invalid()).0);
    }
    text
}

/// Removes the XML declaration, which names an encoding.
fn without_declaration(text: &str) -> &str {
    let Some(declared) = text.trim_start().strip_prefix("<?xml") else { return text };
    declared.split_once("?>").map_or(text, |(_, rest)| rest)
}

/// Closes a truncated feed after its last complete entry.
fn close_truncated(text: &str) -> Option<String> {
    let (inner, outer) = if text.starts_with("<feed") {
        ("</entry>", "</feed>")
    } else if text.starts_with("<rss") {
        ("</item>", "</channel></rss>")
    } else {
        ("</item>", "</rdf:RDF>")
    };
    // Without a complete entry there is nothing to keep.
    let end = text.rfind(inner)? + inner.len();
    Some(format!("{}{outer}", text.get(..end)?))
}

/// Escapes each `&` that does not begin an entity. CDATA is not changed.
fn escape_ampersands(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("<![CDATA[") {
        escape(&close_void_elements(before), &mut out);
        let (inside, after) = from.split_once("]]>").unwrap_or((from, ""));
        out.extend(["<![CDATA[", inside, "]]>"]);
        rest = after;
    }
    escape(&close_void_elements(rest), &mut out);
    out
}

/// Closes void elements of HTML.
fn close_void_elements(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('<');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (ends, name) = part.strip_prefix('/').map_or((false, part), |name| (true, name));
        let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let is_void = VOID_ELEMENTS.iter().any(|void| void.eq_ignore_ascii_case(name));
        if let Some((_, rest)) = part.split_once('>').filter(|_| is_void && ends) {
            // The start tag is self-closing already.
            out.push_str(rest);
            continue;
        }
        out.push('<');
        match part.split_once('>').filter(|(tag, _)| is_void && !tag.ends_with('/')) {
            Some((tag, rest)) => out.extend([tag, "/>", rest]),
            None => out.push_str(part),
        }
    }
    out
}

fn escape(text: &str, out: &mut String) {
    let mut parts = text.split('&');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        // `&b=2;` in a URL is not an entity, because of its equals sign.
        let name = part.split_once(';').map(|(name, _)| name.strip_prefix('#').unwrap_or(name));
        let is_name = |name: &str| {
            !name.is_empty()
                && name.len() < MAX_ENTITY_NAME_BYTES
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        out.push_str(if name.is_some_and(is_name) { "&" } else { "&amp;" });
        out.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended_text(bytes: &[u8]) -> String {
        String::from_utf8(repair(bytes).unwrap()).unwrap()
    }

    #[test]
    fn bare_ampersand_is_literal() {
        assert_eq!(
            mended_text(b"<rss><a>R & D &amp; &#38; &nbsp; ?a=1&b=2;<![CDATA[a & b]]></a></rss>"),
            "<rss><a>R &amp; D &amp; &#38; &nbsp; ?a=1&amp;b=2;<![CDATA[a & b]]></a></rss>"
        );
    }

    #[test]
    fn void_html_elements_are_closed_once() {
        assert_eq!(
            mended_text(b"<rss>a<br>b<br></br>c<img src='x'></img>d<BR/>e</rss>"),
            "<rss>a<br/>b<br/>c<img src='x'/>d<BR/>e</rss>"
        );
    }

    #[test]
    fn text_around_xml_is_removed_and_truncation_closed() {
        assert_eq!(
            mended_text(b"Notice: x\n<?xml?><feed><entry/></feed>\n<!-- 3 s --></html>"),
            "<feed><entry/></feed>"
        );
        assert_eq!(
            mended_text(b"<rss><channel><item>1</item><item>2</it"),
            "<rss><channel><item>1</item></channel></rss>"
        );
        assert_eq!(repair(b"<html><p>no feed</p></html>"), None);
    }

    #[test]
    fn byte_order_marks_and_named_encodings_are_decoded() {
        assert_eq!(mended_text(b"<rss>caf\xe9 \xc3\xa9</rss>"), "<rss>caf\u{e9} \u{e9}</rss>");
        assert_eq!(
            mended_text(b"<?xml version='1.0' encoding='koi8-r'?><rss>\xd4 & \xd4</rss>"),
            "<rss>т &amp; т</rss>"
        );
        let utf_16: Vec<u8> = [0xfe, 0xff]
            .into_iter()
            .chain("<?xml encoding=\"UTF-16\"?><rss/>".bytes().flat_map(|byte| [0, byte]))
            .collect();
        assert_eq!(&*decode_bom(&utf_16), b"<rss/>");
    }

    #[test]
    fn numeric_ids_are_accepted() {
        assert_eq!(mended_text(br#"{"items":[{"id":1}]}"#), r#"{"items":[{"id":"1"}]}"#);
        assert_eq!(repair(b"{}"), None);
    }
}
