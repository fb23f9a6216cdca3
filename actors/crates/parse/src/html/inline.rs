//! Writes the text of a block with its inline markup.

use trafilatura::dom::{Document, NodeId};

use super::blocks::{Block, BlockKind};
use super::inline_marks::InlineMarkKind;
use super::links::resolve_url;
use super::page_links::PageLinks;
use super::pictures::{PictureSource, inline_source};
use super::plain_text::{is_visible, normalize_line};
use super::sanitize::{MAX_HTML_BYTES, TARGET_ATTRIBUTE};

/// Writes the text of a block, of which the HTML is cut at [`MAX_HTML_BYTES`].
pub fn write(page: &Document, links: &PageLinks<'_>, block: &Block, out: &mut String) {
    let mut writer = InlineWriter { page, links, out, waiting: Vec::new(), open: Vec::new() };
    let mut marks = block.marks.iter().peekable();
    let mut seen = 0;
    for c in block.text.chars() {
        // The caller drops HTML of this length, so nothing is closed here. Without the check one block of many
        // links could fill the memory.
        if writer.out.len() > MAX_HTML_BYTES {
            return;
        }
        if is_visible(c) {
            while let Some(mark) = marks.next_if(|mark| mark.at <= seen && writer.out.len() <= MAX_HTML_BYTES)
            {
                writer.mark(mark.what);
            }
            seen += 1;
        }
        writer.letter(c, block.kind == BlockKind::Verbatim);
        // Elements end before the following space and begin after it.
        while let Some(mark) = marks.next_if(|mark| mark.at <= seen && mark.what == InlineMarkKind::Close) {
            writer.mark(mark.what);
        }
    }
    for mark in marks {
        if writer.out.len() <= MAX_HTML_BYTES {
            writer.mark(mark.what);
        }
    }
    writer.end();
}

struct InlineWriter<'a> {
    page: &'a Document,
    links: &'a PageLinks<'a>,
    out: &'a mut String,
    /// Elements that begin before the next character; elements without a character are omitted.
    waiting: Vec<NodeId>,
    open: Vec<Option<&'static str>>,
}

impl InlineWriter<'_> {
    fn mark(&mut self, what: InlineMarkKind) {
        match what {
            InlineMarkKind::Open(element) => self.waiting.push(element),
            InlineMarkKind::Close => {
                // An element that is still waiting holds no character and is never written.
                if self.waiting.pop().is_none() {
                    self.close();
                }
            }
            InlineMarkKind::Picture(element) => {
                if let Some(source) = inline_source(self.page, self.links.base, element) {
                    self.begin();
                    write_image(&source, self.out);
                }
            }
        }
    }

    fn letter(&mut self, c: char, is_verbatim: bool) {
        if is_visible(c) {
            self.begin();
        }
        match c {
            '\n' if !is_verbatim => self.out.push_str("<br>"),
            c => write_char(c, self.out),
        }
    }

    fn begin(&mut self) {
        for element in std::mem::take(&mut self.waiting) {
            // An element within another of its kind, such as a link in a link, is not written again.
            let tag = output_tag(self.page.tag_name(element)).filter(|tag| !self.open.contains(&Some(*tag)));
            let tag = tag.filter(|tag| self.begin_one(element, tag));
            // An element that is not written stays on the stack as `None`, so that its end finds it.
            self.open.push(tag);
        }
    }

    /// Writes a start tag; returns `false` for a link without a valid URL.
    fn begin_one(&mut self, element: NodeId, tag: &'static str) -> bool {
        let attribute = match tag {
            "a" => match self
                .page
                .get_attribute(element, "href")
                .and_then(|href| resolve_url(self.links.base, &href, &["http", "https", "mailto"]))
            {
                Some(address) => Some(("href", address)),
                None => return false,
            },
            "abbr" => {
                self.page.get_attribute(element, "title").map(|title| ("title", normalize_line(&title)))
            }
            _ => None,
        };
        self.out.push('<');
        self.out.push_str(tag);
        if let Some((name, value)) = attribute {
            self.out.push_str(&format!(" {name}=\""));
            write_escaped(&value, self.out);
            self.out.push('"');
            if let Some(offset) = self.links.target(&value).filter(|_| tag == "a") {
                self.out.push_str(&format!(" {TARGET_ATTRIBUTE}=\"{offset}\""));
            }
        }
        self.out.push('>');
        true
    }

    fn close(&mut self) {
        if let Some(Some(tag)) = self.open.pop() {
            self.out.push_str(&format!("</{tag}>"));
        }
    }

    fn end(mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }
}

/// Returns the tag with which an inline element is written.
fn output_tag(tag: &str) -> Option<&'static str> {
    const UNCHANGED_TAGS: [&str; 20] = [
        "a", "b", "strong", "i", "em", "u", "s", "del", "ins", "mark", "small", "sub", "sup", "code", "kbd",
        "samp", "var", "q", "cite", "dfn",
    ];
    match tag {
        "strike" => Some("s"),
        "tt" => Some("code"),
        "abbr" | "acronym" => Some("abbr"),
        tag => UNCHANGED_TAGS.into_iter().find(|same| *same == tag),
    }
}

/// Writes a picture. Browsers load it late and without telling its server which page shows it.
pub fn write_image(source: &PictureSource, out: &mut String) {
    out.push_str("<img src=\"");
    write_escaped(&source.url, out);
    out.push_str("\" alt=\"");
    write_escaped(&source.alt, out);
    out.push_str("\" loading=\"lazy\" referrerpolicy=\"no-referrer\">");
}

/// Writes text with escaped markup.
pub fn write_escaped(text: &str, out: &mut String) {
    text.chars().for_each(|c| write_char(c, out));
}

fn write_char(c: char, out: &mut String) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        c => out.push(c),
    }
}
