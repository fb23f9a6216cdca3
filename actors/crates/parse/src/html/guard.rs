//! A cheap check of markup before it is parsed to a tree.
//!
//! HTML parsers take quadratic time in the nesting depth and in the number of attributes of a tag. This scan takes one pass with a bounded
//! stack, and rejects markup that exceeds the limits below (row P6).

use super::article_error::ArticleError;

/// Maximum nesting depth. Browsers build no deeper tree than 512 either.
const MAX_DEPTH: usize = 512;
/// Maximum number of attributes of a tag. Each is compared with those before it, so their time is quadratic.
const MAX_ATTRIBUTES: usize = 512;

/// A page over one of these is a data dump. The extractor, which copies parts of the tree many times, would take seconds.
const MAX_ORDINARY_TAGS: usize = 50_000;
const MAX_ORDINARY_DEPTHS: usize = 2_000_000;
const MAX_ORDINARY_TEXT_BYTES: usize = 2 << 20;

/// The size of the markup of a page, by which it is decided whether an extractor may read it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MarkupSize {
    /// Number of start tags, of which the extractor makes nodes.
    pub tags: usize,
    /// Sum of the depths of all elements: what copying every subtree costs.
    pub depths: usize,
    /// Bytes of text between tags, without scripts and styles.
    pub text: usize,
}

impl MarkupSize {
    /// Returns whether the page is small enough for an extractor.
    pub fn is_ordinary(&self) -> bool {
        self.tags <= MAX_ORDINARY_TAGS
            && self.depths <= MAX_ORDINARY_DEPTHS
            && self.text <= MAX_ORDINARY_TEXT_BYTES
    }
}

/// Measures a page without building a tree.
///
/// # Errors
/// [`ArticleError::TooDeep`] if more than 512 elements are open at once, and [`ArticleError::TooManyAttributes`] if a
/// tag has more than 512.
pub fn check(html: &str) -> Result<MarkupSize, ArticleError> {
    let mut scan = TagScanner::of(html);
    while let Some(tag) = scan.next_tag() {
        scan.skip_raw_text(&tag);
        match tag {
            TagToken::Opening { name, attributes } if attributes > MAX_ATTRIBUTES && !name.is_empty() => {
                return Err(ArticleError::TooManyAttributes);
            }
            TagToken::Opening { name, .. } => scan.open(name)?,
            TagToken::Closing { name } => scan.close(name),
        }
    }
    Ok(scan.extent)
}

/// Returns whether a tag has too many attributes for markup that only a tokenizer reads. The tokenizer compares each attribute with all
/// the ones before it, and it reads the content of scripts and other raw-text elements as markup.
pub fn has_attribute_flood(html: &str) -> bool {
    let mut scan = TagScanner::of(html);
    std::iter::from_fn(|| scan.next_tag())
        .any(|tag| matches!(tag, TagToken::Opening { attributes, .. } if attributes > MAX_ATTRIBUTES))
}

enum TagToken<'a> {
    Opening { name: &'a [u8], attributes: usize },
    Closing { name: &'a [u8] },
}

struct TagScanner<'a> {
    rest: &'a [u8],
    open: Vec<&'a [u8]>,
    extent: MarkupSize,
}

impl<'a> TagScanner<'a> {
    fn of(html: &'a str) -> Self {
        Self { rest: html.as_bytes(), open: Vec::new(), extent: MarkupSize::default() }
    }

    /// Returns the next tag; skips comments.
    fn next_tag(&mut self) -> Option<TagToken<'a>> {
        loop {
            let before = self.rest.len();
            let found = self.skip_past(b"<");
            self.extent.text += before - found.map_or(0, |()| self.rest.len());
            found?;
            match self.rest.first()? {
                b'!' if self.rest.starts_with(b"!--") => self.skip_comment()?,
                // DOCTYPE and bogus comments such as `<?php`: the first `>` ends them, quoted or not.
                b'!' | b'?' => self.skip_past(b">")?,
                b'/' => {
                    let name = self.take_name(1);
                    self.skip_past(b">")?;
                    return Some(TagToken::Closing { name });
                }
                letter if letter.is_ascii_alphabetic() => {
                    let name = self.take_name(0);
                    let attributes = self.take_attributes();
                    return Some(TagToken::Opening { name, attributes });
                }
                _ => {}
            }
        }
    }

    fn open(&mut self, name: &'a [u8]) -> Result<(), ArticleError> {
        self.extent.tags += 1;
        self.extent.depths += self.open.len();
        if closes_itself(name) {
            return Ok(());
        }
        self.open.push(name);
        if self.open.len() > MAX_DEPTH { Err(ArticleError::TooDeep) } else { Ok(()) }
    }

    /// Closes the elements up to the nearest one with this name, or none if there is no such element.
    fn close(&mut self, name: &[u8]) {
        // The stack holds at most `MAX_DEPTH` names, so this search is bounded. An end tag without a start
        // closes nothing, as in browsers.
        if let Some(at) = self.open.iter().rposition(|open| open.eq_ignore_ascii_case(name)) {
            self.open.truncate(at);
        }
    }

    /// Skips a comment. Comments also end at `--!>`, unless its dashes belong to the start of the comment (HTML, sections 13.2.5.43 to 52).
    fn skip_comment(&mut self) -> Option<()> {
        let rest = self.rest;
        let end = |(at, window): (usize, &[u8])| match window {
            b"-->" => Some(at + 3),
            b"--!" if at >= b"<!--".len() && rest.get(at + 3) == Some(&b'>') => Some(at + 4),
            _ => None,
        };
        // A single pass for both ends. A search for each of them would go to the end of the page for every
        // comment, which takes quadratic time.
        let behind = rest.windows(3).enumerate().find_map(end)?;
        self.rest = rest.get(behind..)?;
        Some(())
    }

    fn skip_past(&mut self, end: &[u8]) -> Option<()> {
        let at = self.rest.windows(end.len()).position(|window| window == end)?;
        self.rest = self.rest.get(at + end.len()..)?;
        Some(())
    }

    fn take_name(&mut self, from: usize) -> &'a [u8] {
        let name = self.rest.get(from..).unwrap_or_default();
        // As in the tokenizer, a name ends only at white space, `/` or `>`; `<` belongs to it.
        let end = name.iter().position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'));
        let (name, rest) = name.split_at_checked(end.unwrap_or(name.len())).unwrap_or_default();
        self.rest = rest;
        name
    }

    /// Skips the rest of a tag including `>` and returns the number of its attributes.
    fn take_attributes(&mut self) -> usize {
        let (mut count, mut quote, mut in_word, mut in_value) = (0, None, false, false);
        for (at, byte) in self.rest.iter().enumerate() {
            match (quote, *byte) {
                (Some(open), byte) => quote = Some(open).filter(|open| *open != byte),
                (None, b'>') => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return count;
                }
                // A quotation mark quotes only directly after the equals sign; elsewhere it is part of a name.
                (None, open @ (b'"' | b'\'')) if in_value => {
                    (quote, in_value, in_word) = (Some(open), false, false);
                }
                (None, b'=') => (in_word, in_value) = (true, true),
                (None, byte) if byte.is_ascii_whitespace() || byte == b'/' => in_word = in_word && in_value,
                (None, _) => {
                    count += usize::from(!in_word && !in_value);
                    (in_word, in_value) = (true, false);
                }
            }
        }
        // A tag that does not end hides the rest of the page, as in the tokenizer.
        self.rest = &[];
        count
    }

    /// Skips the content of scripts, styles and other raw-text elements.
    fn skip_raw_text(&mut self, tag: &TagToken<'_>) {
        let &TagToken::Opening { name, .. } = tag else { return };
        let raw = [
            &b"script"[..],
            b"style",
            b"textarea",
            b"title",
            b"noscript",
            b"xmp",
            b"iframe",
            b"noembed",
            b"noframes",
        ];
        if !raw.iter().any(|raw| name.eq_ignore_ascii_case(raw)) {
            return;
        }
        let ends = |window: &[u8]| {
            window.starts_with(b"</") && window.get(2..).is_some_and(|end| end.eq_ignore_ascii_case(name))
        };
        // A script that is not closed hides the rest of the page.
        let at = self.rest.windows(name.len() + 2).position(ends);
        self.rest = at.and_then(|at| self.rest.get(at..)).unwrap_or_default();
    }
}

/// Returns whether an element has no content or is closed by the next one of its kind, so that unclosed tags do not nest.
fn closes_itself(name: &[u8]) -> bool {
    const NAMES: &[&[u8]] = &[
        b"area",
        b"base",
        b"br",
        b"col",
        b"embed",
        b"hr",
        b"img",
        b"input",
        b"link",
        b"meta",
        b"param",
        b"source",
        b"track",
        b"wbr",
        b"p",
        b"li",
        b"dt",
        b"dd",
        b"tr",
        b"td",
        b"th",
        b"thead",
        b"tbody",
        b"tfoot",
        b"colgroup",
        b"option",
        b"optgroup",
        b"rp",
        b"rt",
        b"html",
        b"head",
        b"body",
        b"a",
        b"nobr",
        b"button",
        b"h1",
        b"h2",
        b"h3",
        b"h4",
        b"h5",
        b"h6",
    ];
    NAMES.iter().any(|closing| name.eq_ignore_ascii_case(closing))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_measured_or_rejected(html in "[<>/!\"'= a-c-]{0,200}") {
            let _ = check(&html);
        }
    }

    /// Covers the threat table (row P6): depth exhausts the stack of a parser.
    #[test]
    fn million_nested_elements_are_rejected() {
        assert_eq!(check(&"<div>".repeat(1_000_000)), Err(ArticleError::TooDeep));
        assert_eq!(check(&"<div></span>".repeat(1_000)), Err(ArticleError::TooDeep));
    }

    #[test]
    fn comments_hide_nothing_behind_them() {
        let nested = "<div>".repeat(1_000);
        for comment in ["<!-- a -->", "<!-- a --!>", "<!-->", "<!--->", "<!---->"] {
            assert_eq!(check(&format!("{comment}{nested}")), Err(ArticleError::TooDeep), "{comment}");
        }
        assert!(check(&format!("<!-- {nested} -->")).is_ok());
        // The dashes of its beginning end none.
        for comment in ["<!--!><script>-->", "<!---!><script>-->"] {
            assert_eq!(check(&format!("{comment}{nested}")), Err(ArticleError::TooDeep), "{comment}");
        }
    }

    #[test]
    fn bogus_comments_do_not_hide_the_next_tag() {
        let many = " a".repeat(1_000);
        for comment in ["<!x <a x=\">", "<?x <a x=\">", "<!DOCTYPE html \">", "</ <a x=\">"] {
            let html = format!("{comment}<div{many}>\">");
            assert_eq!(check(&html), Err(ArticleError::TooManyAttributes), "{comment}");
            assert!(has_attribute_flood(&html), "{comment}");
        }
    }

    #[test]
    fn script_content_is_markup_for_the_tokenizer() {
        let html = format!("<script><div{}></script><p>words</p>", " a".repeat(1_000));

        assert!(check(&html).is_ok() && has_attribute_flood(&html));
        assert!(!has_attribute_flood(&format!(
            "<p>{}</p><!-- <a{}> -->",
            "a ".repeat(1_000),
            " a".repeat(1_000)
        )));
    }

    #[test]
    fn million_comments_take_linear_time() {
        for comment in ["<!---->", "<!----!>", "<!-- --!"] {
            assert!(check(&comment.repeat(1_000_000)).is_ok(), "{comment}");
        }
    }

    /// Covers the threat table (row P6): attributes take quadratic time.
    #[test]
    fn million_attributes_of_one_tag_are_rejected() {
        let many: String = (0..1_000_000).map(|n| format!(" a{n}=\"x y\"")).collect();

        assert_eq!(check(&format!("<div{many}>")), Err(ArticleError::TooManyAttributes));
        assert_eq!(check(&format!("<div{}>", " a".repeat(1_000))), Err(ArticleError::TooManyAttributes));
    }

    #[test]
    fn tags_with_optional_end_do_not_nest() {
        let page = "<ul>".to_owned() + &"<li>one<p>two<br><img src=x>".repeat(5_000);

        assert_eq!(check(&page).map(|extent| (extent.tags, extent.depths)), Ok((20_001, 20_000)));
    }

    #[test]
    fn text_between_tags_is_counted() {
        assert_eq!(
            check("<p class=a>four<script>not this</script>and").map(|extent| extent.text),
            Ok("four<".len() + "<and".len() + 1)
        );
        assert!(check(&"<div><div>".repeat(200)).is_ok_and(|extent| extent.is_ordinary()));
        assert!(check(&"word ".repeat(1 << 20)).is_ok_and(|extent| !extent.is_ordinary()));
    }

    #[test]
    fn unclosed_element_ends_with_its_parent() {
        assert!(check(&"<div><span></div>".repeat(5_000)).is_ok());
    }

    #[test]
    fn markup_in_scripts_comments_and_quotes_is_ignored() {
        let inside = "<div>".repeat(1_000);

        assert!(
            check(&format!("<script>'{inside}'</script><!-- {inside} --><p title=\"{inside}\">")).is_ok()
        );
    }
}
