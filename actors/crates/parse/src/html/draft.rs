//! The first choice of what belongs to an article, made by an extractor that others keep well.

use std::panic::{AssertUnwindSafe, catch_unwind};

use trafilatura::{Metadata, Options, dom::Document, extract_document};
use url::Url;

use super::{
    rendition::{self, Rendition},
    walk::{self, Walked},
};

/// What the extractor made of a page.
pub struct Draft {
    /// What it chose, in its own rendering.
    pub found: Walked,
    /// What it found about the page.
    pub metadata: Metadata,
    content: Document,
}

impl Draft {
    /// All that it chose.
    pub fn rendition(&self, url: Option<&Url>) -> Rendition {
        let Walked { blocks, pictures } = &self.found;
        rendition::of(&self.content, url, &blocks.iter().collect::<Vec<_>>(), pictures)
    }
}

/// Asks the extractor. None when it finds nothing, or trips over the page: there are other ways to read it.
pub fn draft(page: &Document, url: &str) -> Option<Draft> {
    let mut options = Options::default().with_fallback(true).with_exclude_comments(true);
    options.original_url = Url::parse(url).ok();
    let result = catch_unwind(AssertUnwindSafe(|| extract_document(prepared(page), &options))).ok()?.ok()?;
    let content = Document::parse(&result.content_html);
    Some(Draft { found: walk::walk(&content, content.root()), metadata: result.metadata, content })
}

/// Elements that the extractor throws away, with the words that follow them in the same paragraph: nothing of them is text.
const THROWN: [&str; 24] = [
    "svg", "noscript", "script", "style", "template", "wbr", "object", "canvas", "picture", "video", "audio",
    "map", "dialog", "iframe", "embed", "progress", "meter", "select", "datalist", "button", "input",
    "textarea", "rt", "rp",
];
/// Elements around words of a paragraph that it throws away with these words and those behind them.
const AROUND_WORDS: [&str; 22] = [
    "time", "label", "output", "data", "bdi", "bdo", "ruby", "rb", "nobr", "big", "acronym", "abbr", "dfn",
    "samp", "var", "kbd", "cite", "ins", "small", "slot", "blink", "tt",
];
/// What formulas are made of, around their signs.
const FORMULA: [&str; 14] = [
    "math",
    "semantics",
    "mrow",
    "mi",
    "mo",
    "mn",
    "mtext",
    "msup",
    "msub",
    "msubsup",
    "mfrac",
    "msqrt",
    "mstyle",
    "mtable",
];

/// A copy of the page without what would lead the extractor to lose an article's words.
fn prepared(page: &Document) -> Document {
    let mut page = page.clone_document();
    let root = page.root();
    for node in page.iter(root, &THROWN) {
        if !page.tail(node).trim().is_empty() {
            page.remove(node, true);
        }
    }
    page.strip_elements(root, true, &["annotation", "annotation-xml"]);
    page.strip_tags(root, &FORMULA);
    for node in page.iter(root, &AROUND_WORDS) {
        if !page.tail(node).trim().is_empty()
            || page.parent(node).is_some_and(|around| page.tag_name(around) == "p")
        {
            page.strip(node);
        }
    }
    // What unfolds is there to be read.
    for (folded, open) in [("details", "div"), ("summary", "p")] {
        for node in page.iter(root, &[folded]) {
            page.set_tag_name(node, open);
        }
    }
    // A listing or a quotation in a figure is no picture.
    for figure in page.iter(root, &["figure"]) {
        if walk::is_of_words(&page, figure) {
            page.set_tag_name(figure, "div");
        }
    }
    page
}
