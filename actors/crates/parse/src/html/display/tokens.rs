//! The tags and texts of serialised HTML, one after the other.
//!
//! This is no parser of any HTML: it reads what the sanitiser writes, in which tags are written out and attributes quoted. Of anything else
//! it makes some tokens, never a failure.

use std::borrow::Cow;

use super::super::sanitize::START_ATTRIBUTE;

/// The longest reference to a character, in bytes: `&nbsp;` and `&#1114111;`.
const MAX_REFERENCE_BYTES: usize = 12;

/// A part of serialised HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// The start tag of an element.
    Start(StartTag<'a>),
    /// The end tag of the element with this name.
    End(&'a str),
    /// Text, with its references.
    Text(&'a str),
}

/// A start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartTag<'a> {
    /// The name of the element.
    pub name: &'a str,
    /// What is between the name and the end of the tag.
    pub attributes: &'a str,
}

impl<'a> StartTag<'a> {
    /// Returns whether the element has no end tag.
    pub fn is_void(&self) -> bool {
        matches!(self.name, "img" | "br")
    }

    /// Returns the value of an attribute as it is written, with its references.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes().find(|(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Returns the attributes, with their values as they are written.
    pub fn attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let mut rest = self.attributes;
        std::iter::from_fn(move || {
            let (name, after) = rest.split_once("=\"")?;
            let (value, after) = after.split_once('"')?;
            rest = after;
            Some((name.trim(), value))
        })
    }

    /// Returns the offset in the text at which the words of the element begin, if it states one.
    pub fn start_offset(&self) -> Option<usize> {
        self.attribute(START_ATTRIBUTE)?.parse().ok()
    }
}

/// Returns the tokens of serialised HTML with their byte offsets.
pub fn tokens(html: &str) -> impl Iterator<Item = (usize, Token<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = html.get(at..).filter(|rest| !rest.is_empty())?;
        let (token, length) = next_token(rest);
        let begin = at;
        at += length;
        Some((begin, token))
    })
}

/// Returns the first token and its length in bytes, which is not 0. The text is not empty.
fn next_token(rest: &str) -> (Token<'_>, usize) {
    let Some(tag) = rest.strip_prefix('<') else {
        let length = rest.find('<').unwrap_or(rest.len());
        return (Token::Text(rest.get(..length).unwrap_or_default()), length);
    };
    let (inner, length) = match end_of_tag(tag) {
        Some(end) => (tag.get(..end).unwrap_or_default(), end + 2),
        None => (tag, rest.len()),
    };
    if let Some(name) = inner.strip_prefix('/') {
        return (Token::End(name.trim()), length);
    }
    let name_end = inner.find(|c: char| c.is_ascii_whitespace()).unwrap_or(inner.len());
    let (name, attributes) = inner.split_at_checked(name_end).unwrap_or((inner, ""));
    (Token::Start(StartTag { name, attributes }), length)
}

/// Returns the index of the `>` that ends a tag; one within a quoted value does not.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut is_quoted = false;
    tag.bytes().position(|byte| {
        is_quoted ^= byte == b'"';
        byte == b'>' && !is_quoted
    })
}

/// Returns the characters of a text as they are written: a reference is one of them.
pub fn written_chars(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if first == '&' { reference_length(rest) } else { first.len_utf8() };
        let (one, after) = rest.split_at_checked(length)?;
        rest = after;
        Some(one)
    })
}

/// Returns the length of the reference at the beginning of a text; 1 if there is none.
fn reference_length(text: &str) -> usize {
    let end = text.bytes().take(MAX_REFERENCE_BYTES).position(|byte| byte == b';');
    let is_reference = |end: &usize| {
        text.get(1..*end).is_some_and(|name| !name.is_empty() && name.bytes().all(is_part_of_reference))
    };
    end.filter(is_reference).map_or(1, |end| end + 1)
}

fn is_part_of_reference(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'#'
}

/// Returns the value of an attribute with its references replaced.
pub fn attribute_text(written: &str) -> Cow<'_, str> {
    if !written.contains('&') {
        return Cow::Borrowed(written);
    }
    let replaced = written
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", "\u{a0}")
        // The last one, because what it makes is no reference.
        .replace("&amp;", "&");
    Cow::Owned(replaced)
}

/// Returns the URLs of the pictures of stored HTML, in their order.
pub fn picture_sources(html: &str) -> impl Iterator<Item = Cow<'_, str>> {
    tokens(html).filter_map(|(_, token)| match token {
        Token::Start(tag) if tag.name == "img" => tag.attribute("src").map(attribute_text),
        Token::Start(_) | Token::End(_) | Token::Text(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tags_and_texts_are_told_apart() {
        let html = "<p data-start=\"7\">A &gt; b<br>c<img src=\"/a>b?x=1&amp;y=2\" alt=\"\"></p>";

        let names: Vec<_> = tokens(html)
            .map(|(_, token)| match token {
                Token::Start(tag) => tag.name,
                Token::End(name) | Token::Text(name) => name,
            })
            .collect();

        assert_eq!(names, ["p", "A &gt; b", "br", "c", "img", "p"]);
        assert_eq!(picture_sources(html).collect::<Vec<_>>(), ["/a>b?x=1&y=2"]);
        assert_eq!(written_chars("a&amp;é&x").collect::<Vec<_>>(), ["a", "&amp;", "é", "&", "x"]);
    }

    proptest! {
        #[test]
        fn tokens_cover_any_text(html in "[a<>/\" é=&;p]{0,60}") {
            let mut end = 0;
            for (at, _) in tokens(&html) {
                prop_assert!(at >= end && html.is_char_boundary(at));
                end = at + 1;
            }
            let chars: String = written_chars(&html).collect();
            prop_assert_eq!(chars, html);
        }
    }
}
