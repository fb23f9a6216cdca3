//! Adds to sanitised HTML what a page of the app needs: ids, pictures through the server, and marks.

use std::fmt::Write;
use std::ops::Range;

use super::super::sanitize::{TARGET_ATTRIBUTE, sanitize};
use super::tokens::{StartTag, Token, attribute_text, tokens, written_chars};

/// Marks that are drawn around the same words. Without a bound, highlights that all cover a text of many elements would multiply to a
/// page of gigabytes.
const MAX_NESTED_MARKS: usize = 8;

/// Words that are drawn as marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplayMark {
    /// The marked characters of the text, in Unicode scalar values.
    pub range: Range<usize>,
    /// The value of `class`: names of our own.
    pub class: String,
    /// The value of `data-mark`, by which scripts find the pieces of a mark.
    pub id: String,
}

/// How a picture is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureView {
    /// The address on this server.
    pub address: String,
    /// Width and height in pixels, if they are known.
    pub size: Option<(u32, u32)>,
}

/// What is added to the HTML of a text.
pub struct Decoration<'a> {
    /// The highlights, in the order of their creation: a later one is drawn within an earlier one.
    pub marks: &'a [DisplayMark],
    /// The characters that a link names. Their first piece has the id `at`.
    pub target: Option<Range<usize>>,
    /// Returns the address of the picture with this URL; `None` shows its alternative text alone.
    pub picture: &'a dyn Fn(&str) -> Option<PictureView>,
    /// Returns the address of the block that begins at an offset of the text, for links within the text.
    pub block_address: &'a dyn Fn(usize) -> String,
    /// The words of the links that stand for pictures that are not shown. `None` shows pictures.
    pub picture_link: Option<&'a str>,
}

/// Sanitises the HTML of a text again and adds ids, pictures and marks.
pub fn decorate(html: &str, decoration: &Decoration<'_>) -> String {
    let html = sanitize(html);
    let mut writer = Writer {
        decoration,
        out: String::with_capacity(html.len() + html.len() / 4),
        offset: None,
        depth: 0,
        last_id: None,
        is_target_drawn: false,
    };
    for (_, token) in tokens(&html) {
        match token {
            Token::Start(tag) => writer.start(tag),
            Token::End(name) => writer.end(name),
            Token::Text(text) => writer.text(text),
        }
    }
    writer.out
}

struct Writer<'a> {
    decoration: &'a Decoration<'a>,
    out: String,
    /// Offset of the next character; `None` outside of elements that state one.
    offset: Option<usize>,
    /// Number of elements that are open within the element that states an offset, and itself.
    depth: usize,
    last_id: Option<usize>,
    is_target_drawn: bool,
}

impl Writer<'_> {
    fn start(&mut self, tag: StartTag<'_>) {
        if tag.name == "img" {
            return self.picture(tag);
        }
        if let Some(start) = tag.start_offset() {
            (self.offset, self.depth) = (Some(start), 0);
        }
        match linked_offset(tag) {
            Some(offset) => {
                let address = (self.decoration.block_address)(offset);
                let _ = write!(self.out, "<a href=\"{address}\" {TARGET_ATTRIBUTE}=\"{offset}\"");
            }
            None => {
                let _ = write!(self.out, "<{}{}", tag.name, tag.attributes);
            }
        }
        // Offsets rise, so an id that is not above the last one would be there twice.
        if let Some(start) = tag.start_offset().filter(|start| self.last_id.is_none_or(|last| *start > last))
        {
            let _ = write!(self.out, " id=\"o{start}\"");
            self.last_id = Some(start);
        }
        self.out.push('>');
        self.target_before_blocks(tag);
        if tag.name == "br" {
            self.offset = self.offset.map(|offset| offset + 1);
        } else if self.offset.is_some() {
            self.depth += 1;
        }
    }

    /// Draws an empty mark if the target is between two blocks, so that the link leads there.
    fn target_before_blocks(&mut self, tag: StartTag<'_>) {
        let is_passed =
            |start: usize| self.decoration.target.as_ref().is_some_and(|target| target.end <= start);
        if !self.is_target_drawn && tag.start_offset().is_some_and(is_passed) {
            self.out.push_str("<mark id=\"at\" class=\"at\"></mark>");
            self.is_target_drawn = true;
        }
    }

    fn end(&mut self, name: &str) {
        let _ = write!(self.out, "</{name}>");
        if self.offset.is_some() {
            self.depth = self.depth.saturating_sub(1);
            if self.depth == 0 {
                self.offset = None;
            }
        }
    }

    fn text(&mut self, text: &str) {
        let Some(begin) = self.offset else { return self.out.push_str(text) };
        let end = begin + written_chars(text).count();
        self.offset = Some(end);
        let overlaps = |range: &Range<usize>| range.start < end && range.end > begin;
        let marks: Vec<&DisplayMark> =
            self.decoration.marks.iter().filter(|mark| overlaps(&mark.range)).collect();
        let target = self.decoration.target.clone().filter(overlaps);
        if marks.is_empty() && target.is_none() {
            return self.out.push_str(text);
        }
        let borders = borders(begin..end, marks.iter().map(|mark| &mark.range).chain(target.as_ref()));
        let mut chars = written_chars(text);
        let pieces = borders.iter().zip(borders.iter().skip(1));
        for (from, to) in pieces {
            let piece: String = chars.by_ref().take(to - from).collect();
            let within = |range: &Range<usize>| range.start <= *from && range.end >= *to;
            let marks: Vec<_> = marks.iter().filter(|mark| within(&mark.range)).collect();
            self.piece(&piece, &marks, target.as_ref().is_some_and(within));
        }
    }

    fn piece(&mut self, text: &str, marks: &[&&DisplayMark], is_target: bool) {
        // The latest, which are drawn within the others.
        let marks = marks.get(marks.len().saturating_sub(MAX_NESTED_MARKS)..).unwrap_or_default();
        for mark in marks {
            let _ = write!(self.out, "<mark class=\"{}\" data-mark=\"{}\">", mark.class, mark.id);
        }
        if is_target {
            let id = if self.is_target_drawn { "" } else { " id=\"at\"" };
            let _ = write!(self.out, "<mark{id} class=\"at\">");
            self.is_target_drawn = true;
        }
        self.out.push_str(text);
        self.out.push_str(&"</mark>".repeat(marks.len() + usize::from(is_target)));
    }

    fn picture(&mut self, tag: StartTag<'_>) {
        let alt = tag.attribute("alt").unwrap_or_default();
        let view = tag.attribute("src").and_then(|url| (self.decoration.picture)(&attribute_text(url)));
        let Some(view) = view else {
            return self.out.push_str(&quoted_text(alt));
        };
        let address = view.address;
        if let Some(words) = self.decoration.picture_link {
            let words =
                if alt.is_empty() { words.to_owned() } else { format!("{words}: {}", quoted_text(alt)) };
            let _ = write!(self.out, "<a class=\"picture-link\" href=\"{address}\">{words}</a>");
            return;
        }
        let size = view.size.map(|(width, height)| format!(" width=\"{width}\" height=\"{height}\""));
        let size = size.unwrap_or_default();
        let _ = write!(
            self.out,
            "<img src=\"{address}\" alt=\"{alt}\"{size} loading=\"lazy\" decoding=\"async\">"
        );
    }
}

/// Returns the offset to which a link within the text leads.
fn linked_offset(tag: StartTag<'_>) -> Option<usize> {
    if tag.name == "a" { tag.attribute(TARGET_ATTRIBUTE)?.parse().ok() } else { None }
}

/// Returns the value of an attribute, as it is written, as the text of an element.
fn quoted_text(value: &str) -> String {
    value.replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns the places within `whole` at which one of the ranges begins or ends, ascending, with both ends of `whole`.
fn borders<'a>(whole: Range<usize>, ranges: impl Iterator<Item = &'a Range<usize>>) -> Vec<usize> {
    let mut borders: Vec<usize> = ranges
        .flat_map(|range| [range.start, range.end])
        .chain([whole.start, whole.end])
        .filter(|border| (whole.start..=whole.end).contains(border))
        .collect();
    borders.sort_unstable();
    borders.dedup();
    borders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mark(range: Range<usize>, id: &str) -> DisplayMark {
        DisplayMark { range, class: format!("hl c-{id}"), id: id.to_owned() }
    }

    fn shown(html: &str, marks: &[DisplayMark], target: Option<Range<usize>>) -> String {
        let picture = |url: &str| {
            url.starts_with("https:")
                .then(|| PictureView { address: "/img/1".to_owned(), size: Some((4, 3)) })
        };
        let decoration =
            Decoration { marks, target, picture: &picture, block_address: &fragment, picture_link: None };
        decorate(html, &decoration)
    }

    fn fragment(offset: usize) -> String {
        format!("#o{offset}")
    }

    #[test]
    fn marks_split_at_elements_and_each_other() {
        let html = "<p data-start=\"3\">Ab <b>cd</b> é&amp;<br>f</p>";

        assert_eq!(
            shown(html, &[mark(4..8, "green"), mark(7..12, "blue")], None),
            "<p data-start=\"3\" id=\"o3\">A<mark class=\"hl c-green\" data-mark=\"green\">b </mark>\
             <b><mark class=\"hl c-green\" data-mark=\"green\">c</mark>\
             <mark class=\"hl c-green\" data-mark=\"green\"><mark class=\"hl c-blue\" data-mark=\"blue\">d</mark></mark></b>\
             <mark class=\"hl c-blue\" data-mark=\"blue\"> é&amp;</mark><br>f</p>"
        );
    }

    #[test]
    fn marks_around_the_same_words_are_bounded() {
        let html = format!("<p data-start=\"0\">{}</p>", "x".repeat(100));
        let marks: Vec<DisplayMark> = (0..50).map(|n| mark(n..100 - n, &format!("m{n}"))).collect();

        let drawn = shown(&html, &marks, None);

        // There are 99 pieces.
        assert!(drawn.matches("<mark ").count() <= 99 * MAX_NESTED_MARKS);
        assert!(drawn.contains("data-mark=\"m49\""), "the innermost mark is drawn");
        assert_eq!(drawn.matches("<mark ").count(), drawn.matches("</mark>").count());
    }

    #[test]
    fn first_piece_of_the_target_has_the_id() {
        let html = "<p data-start=\"0\">One <i>two</i></p><p data-start=\"9\">three</p>";

        assert_eq!(
            shown(html, &[], Some(4..11)),
            "<p data-start=\"0\" id=\"o0\">One <i><mark id=\"at\" class=\"at\">two</mark></i></p>\
             <p data-start=\"9\" id=\"o9\"><mark class=\"at\">th</mark>ree</p>"
        );
        assert_eq!(shown(html, &[], Some(7..9)).matches("id=\"at\"").count(), 1);
        assert_eq!(shown(html, &[], Some(50..60)).matches("id=\"at\"").count(), 0);
    }

    #[test]
    fn pictures_come_from_this_server_or_as_text() {
        let html = "<figure><img src=\"https://evil.example/a.png\" alt=\"A &quot;b&quot;\"></figure><img src=\"x\" alt=\"<b>gone\">";

        assert_eq!(
            shown(html, &[], None),
            "<figure><img src=\"/img/1\" alt=\"A &quot;b&quot;\" width=\"4\" height=\"3\" loading=\"lazy\" decoding=\"async\"></figure>&lt;b&gt;gone"
        );
        let picture = |_: &str| Some(PictureView { address: "/img/1".to_owned(), size: None });
        let links = Decoration {
            marks: &[],
            target: None,
            picture: &picture,
            block_address: &fragment,
            picture_link: Some("Picture"),
        };
        assert_eq!(
            decorate(html, &links).split("</figure>").next(),
            Some("<figure><a class=\"picture-link\" href=\"/img/1\">Picture: A &quot;b&quot;</a>")
        );
    }

    #[test]
    fn link_within_the_text_leads_to_its_block() {
        let link = "<a href=\"https://a.example/p#fn1\" data-to=\"9\">1</a>";
        let html = format!("<p data-start=\"0\">Mud<sup>{link}</sup></p><p data-start=\"9\">Silt</p>");

        assert_eq!(
            shown(&html, &[mark(2..4, "green")], None),
            "<p data-start=\"0\" id=\"o0\">Mu<mark class=\"hl c-green\" data-mark=\"green\">d</mark>\
             <sup><a href=\"#o9\" data-to=\"9\"><mark class=\"hl c-green\" data-mark=\"green\">1</mark></a></sup></p>\
             <p data-start=\"9\" id=\"o9\">Silt</p>"
        );
    }

    /// Covers the threat table (rows X1, X2, X3).
    #[test]
    fn stored_html_is_not_trusted() {
        let html = "<p data-start=\"0\" onclick=\"x()\" id=\"main\" style=\"color:red\">Hi<script>x()</script></p><svg onload=\"x()\"></svg>\
                    <a href=\"javascript:x()\">a</a><form action=\"https://evil.example\"><input></form>";

        let shown = shown(html, &[], None);

        assert!(shown.starts_with("<p data-start=\"0\" id=\"o0\">Hi</p><a"), "{shown}");
        for removed in ["onclick", "main", "style", "script", "svg", "javascript", "form", "evil"] {
            assert!(!shown.contains(removed), "{removed}: {shown}");
        }
    }

    proptest! {
        #[test]
        fn marks_never_change_the_words(from in 0..30_usize, length in 1..20_usize, other in 0..30_usize) {
            let html = "<p data-start=\"0\">On <b>hé<i>r</i>ons</b>,<br>they &lt;wait&gt;</p><p data-start=\"24\">All day</p>";
            let marks = [mark(from..from + length, "a"), mark(other..other + 5, "b")];

            let drawn = shown(html, &marks, Some(other..other + length));

            prop_assert_eq!(sanitize(&without_marks(&drawn)), sanitize(html));
        }
    }

    fn without_marks(html: &str) -> String {
        let is_mark = |token: &Token<'_>| match token {
            Token::Start(tag) => tag.name == "mark",
            Token::End(name) => *name == "mark",
            Token::Text(_) => false,
        };
        let written = |token: Token<'_>| match token {
            Token::Start(tag) => format!("<{}{}>", tag.name, tag.attributes),
            Token::End(name) => format!("</{name}>"),
            Token::Text(text) => text.to_owned(),
        };
        tokens(html).map(|(_, token)| token).filter(|token| !is_mark(token)).map(written).collect()
    }
}
