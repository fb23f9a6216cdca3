//! The words of a block with the markup in them.

use trafilatura::dom::{Document, NodeId};
use url::Url;

use super::blocks::{Block, Kind};
use super::markup::What;
use super::pictures::{Source, amid_words};
use super::prose::{is_seen, words};
use super::safe::MOST_HTML;

/// Schemes of what can be fetched.
pub const WEB: [&str; 2] = ["http", "https"];
/// Longer addresses are none, in characters (contract.md, 11: v1).
const ADDRESS: usize = 8_192;

/// Writes a block's words; of more than [`MOST_HTML`] it writes a part.
pub fn write(page: &Document, base: Option<&Url>, block: &Block, out: &mut String) {
    let mut writer = Writer { page, base, out, waiting: Vec::new(), open: Vec::new() };
    let mut marks = block.marks.iter().peekable();
    let mut seen = 0;
    for c in block.text.chars() {
        if writer.out.len() > MOST_HTML {
            return;
        }
        if is_seen(c) {
            while let Some(mark) = marks.next_if(|mark| mark.at <= seen && writer.out.len() <= MOST_HTML) {
                writer.mark(mark.what);
            }
            seen += 1;
        }
        writer.letter(c, block.kind == Kind::Verbatim);
        // What ends, ends before the space that follows; what begins, begins behind it.
        while let Some(mark) = marks.next_if(|mark| mark.at <= seen && mark.what == What::Close) {
            writer.mark(mark.what);
        }
    }
    for mark in marks {
        if writer.out.len() <= MOST_HTML {
            writer.mark(mark.what);
        }
    }
    writer.end();
}

struct Writer<'a> {
    page: &'a Document,
    base: Option<&'a Url>,
    out: &'a mut String,
    /// Elements that begin with the next letter: those without one are left out.
    waiting: Vec<NodeId>,
    open: Vec<Option<&'static str>>,
}

impl Writer<'_> {
    fn mark(&mut self, what: What) {
        match what {
            What::Open(element) => self.waiting.push(element),
            What::Close => {
                if self.waiting.pop().is_none() {
                    self.close();
                }
            }
            What::Picture(element) => {
                if let Some(source) = amid_words(self.page, self.base, element) {
                    self.begin();
                    image(&source, self.out);
                }
            }
        }
    }

    fn letter(&mut self, c: char, is_verbatim: bool) {
        if is_seen(c) {
            self.begin();
        }
        match c {
            '\n' if !is_verbatim => self.out.push_str("<br>"),
            c => push(c, self.out),
        }
    }

    fn begin(&mut self) {
        for element in std::mem::take(&mut self.waiting) {
            let tag = kept(self.page.tag_name(element)).filter(|tag| !self.open.contains(&Some(*tag)));
            let tag = tag.filter(|tag| self.begin_one(element, tag));
            self.open.push(tag);
        }
    }

    /// `false` for a link that leads nowhere.
    fn begin_one(&mut self, element: NodeId, tag: &'static str) -> bool {
        let attribute = match tag {
            "a" => match self
                .page
                .get_attribute(element, "href")
                .and_then(|href| address(self.base, &href, &["http", "https", "mailto"]))
            {
                Some(address) => Some(("href", address)),
                None => return false,
            },
            "abbr" => self.page.get_attribute(element, "title").map(|title| ("title", words(&title))),
            _ => None,
        };
        self.out.push('<');
        self.out.push_str(tag);
        if let Some((name, value)) = attribute {
            self.out.push_str(&format!(" {name}=\""));
            escape(&value, self.out);
            self.out.push('"');
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

/// What an element within words is written as.
fn kept(tag: &str) -> Option<&'static str> {
    const SAME: [&str; 20] = [
        "a", "b", "strong", "i", "em", "u", "s", "del", "ins", "mark", "small", "sub", "sup", "code", "kbd",
        "samp", "var", "q", "cite", "dfn",
    ];
    match tag {
        "strike" => Some("s"),
        "tt" => Some("code"),
        "abbr" | "acronym" => Some("abbr"),
        tag => SAME.into_iter().find(|same| *same == tag),
    }
}

/// An address that is safe to follow, of one of these schemes.
pub fn address(base: Option<&Url>, stated: &str, schemes: &[&str]) -> Option<String> {
    let stated = stated.trim();
    let url = match base {
        Some(base) => base.join(stated).ok()?,
        None => Url::parse(stated).ok()?,
    };
    let fits = schemes.contains(&url.scheme()) && url.as_str().len() <= ADDRESS;
    fits.then(|| url.into())
}

/// Writes a picture.
pub fn image(source: &Source, out: &mut String) {
    out.push_str("<img src=\"");
    escape(&source.url, out);
    out.push_str("\" alt=\"");
    escape(&source.alt, out);
    out.push_str("\" loading=\"lazy\" referrerpolicy=\"no-referrer\">");
}

/// Writes words in which nothing is markup.
pub fn escape(text: &str, out: &mut String) {
    text.chars().for_each(|c| push(c, out));
}

fn push(c: char, out: &mut String) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        c => out.push(c),
    }
}
