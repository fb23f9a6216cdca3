//! Divides the HTML of a long text into parts.

use std::ops::Range;

use super::tokens::{StartTag, Token, tokens, written_chars};

/// A part of a text ends at the first border of blocks after this many characters.
pub const MAX_PART_CHARS: usize = 60_000;

/// The elements around blocks within which a part may end: they are closed, and opened again by the next part.
const DIVISIBLE: [&str; 6] = ["ul", "ol", "dl", "blockquote", "table", "tbody"];

/// A part of the HTML of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HtmlPart {
    /// Offset of its first words in the text, in Unicode scalar values; 0 for the first part.
    pub start: usize,
    /// Number of blocks with words before it.
    pub blocks_before: usize,
    opened: String,
    body: Range<usize>,
    closed: String,
}

impl HtmlPart {
    /// Returns the HTML of the part, cut out of the HTML that was divided.
    pub fn html(&self, whole: &str) -> String {
        let body = whole.get(self.body.clone()).unwrap_or_default();
        [self.opened.as_str(), body, self.closed.as_str()].concat()
    }
}

/// An element around the current position.
struct OpenElement<'a> {
    tag: StartTag<'a>,
    items: usize,
}

/// Divides the HTML of a text into parts of about `max_chars` characters. A part ends between two blocks, list items, rows of a table or
/// quotations, never within one of them; so a part may be longer. There is always a first part.
pub fn split_parts(html: &str, max_chars: usize) -> Vec<HtmlPart> {
    let mut parts = vec![HtmlPart {
        start: 0,
        blocks_before: 0,
        opened: String::new(),
        body: 0..html.len(),
        closed: String::new(),
    }];
    let (mut open, mut chars, mut blocks) = (Vec::<OpenElement>::new(), 0, 0);
    let (mut is_after_block, mut needs_start) = (false, false);
    for (at, token) in tokens(html) {
        match token {
            Token::Text(text) => chars += written_chars(text).count(),
            Token::End(name) => {
                // An end tag without its start tag, which the sanitiser never writes, ends nothing.
                if let Some(depth) = open.iter().rposition(|element| element.tag.name == name) {
                    open.truncate(depth);
                }
                is_after_block = true;
                continue;
            }
            Token::Start(tag) => {
                if chars >= max_chars && is_after_block && may_divide(&open) {
                    end_part(&mut parts, &open, at, blocks, html.len());
                    (chars, needs_start) = (0, true);
                }
                if let Some(start) = tag.start_offset() {
                    if let Some(part) = parts.last_mut().filter(|_| needs_start) {
                        part.start = start;
                    }
                    (needs_start, blocks) = (false, blocks + 1);
                }
                if let Some(list) = open.last_mut().filter(|_| tag.name == "li") {
                    list.items += 1;
                }
                if !tag.is_void() {
                    open.push(OpenElement { tag, items: 0 });
                }
            }
        }
        is_after_block = false;
    }
    // A part in which nothing is readable, such as a last picture, belongs to the one before it.
    if needs_start && parts.len() > 1 {
        parts.pop();
        if let Some(last) = parts.last_mut() {
            last.body.end = html.len();
            last.closed.clear();
        }
    }
    parts
}

fn may_divide(open: &[OpenElement]) -> bool {
    open.iter().all(|element| DIVISIBLE.contains(&element.tag.name))
}

/// Ends the last part here and begins another one.
fn end_part(parts: &mut Vec<HtmlPart>, open: &[OpenElement], at: usize, blocks_before: usize, end: usize) {
    if let Some(last) = parts.last_mut() {
        last.body.end = at;
        last.closed = open.iter().rev().map(|element| format!("</{}>", element.tag.name)).collect();
    }
    let opened = open.iter().map(reopened_tag).collect();
    parts.push(HtmlPart { start: 0, blocks_before, opened, body: at..end, closed: String::new() });
}

/// Returns the start tag with which the next part opens an element again. An ordered list counts on.
fn reopened_tag(element: &OpenElement) -> String {
    let (name, items) = (element.tag.name, element.items);
    if name != "ol" {
        return format!("<{name}>");
    }
    let start = element.tag.attribute("start").and_then(|start| start.parse::<i64>().ok()).unwrap_or(1);
    format!("<ol start=\"{}\">", start.saturating_add(i64::try_from(items).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::super::super::sanitize::sanitize;
    use super::*;

    fn parts(html: &str, max_chars: usize) -> Vec<(usize, usize, String)> {
        let parts = split_parts(html, max_chars).into_iter();
        parts.map(|part| (part.start, part.blocks_before, part.html(html))).collect()
    }

    #[test]
    fn part_ends_between_blocks() {
        let html = "<p data-start=\"0\">One <b>two</b></p><figure><img src=\"a\"></figure><p data-start=\"9\">Three</p>";

        assert_eq!(
            parts(html, 4),
            [
                (0, 0, "<p data-start=\"0\">One <b>two</b></p>".to_owned()),
                (9, 1, "<figure><img src=\"a\"></figure><p data-start=\"9\">Three</p>".to_owned()),
            ]
        );
        assert_eq!(parts(html, 400).len(), 1);
        assert_eq!(parts("", 4), [(0, 0, String::new())]);
    }

    #[test]
    fn list_counts_on_in_the_next_part() {
        let item = |start: usize| format!("<li><span data-start=\"{start}\">Word</span></li>");
        let html = format!("<ol start=\"3\">{}{}{}</ol>", item(0), item(5), item(10));

        let found = parts(&html, 8);

        assert_eq!(found[0].2, format!("<ol start=\"3\">{}{}</ol>", item(0), item(5)));
        assert_eq!(found[1], (10, 2, format!("<ol start=\"5\">{}</ol>", item(10))));
    }

    #[test]
    fn row_of_a_table_stays_whole() {
        let row =
            "<tr><td><span data-start=\"0\">One</span></td><td><span data-start=\"6\">Two</span></td></tr>";
        let html = format!("<table><tbody>{row}{row}</tbody></table>");

        let found = parts(&html, 1);

        assert_eq!(found.len(), 2, "{found:?}");
        for (_, _, part) in found {
            assert_eq!(sanitize(&part), part);
            assert!(part.contains(row), "{part}");
        }
    }

    #[test]
    fn last_picture_makes_no_part() {
        let html = "<p data-start=\"0\">Words</p><figure><img src=\"a\"></figure>";

        assert_eq!(parts(html, 1), [(0, 0, html.to_owned())]);
    }
}
