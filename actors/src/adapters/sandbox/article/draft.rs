//! The first choice of what belongs to an article, made by an extractor that others keep well.

use std::panic::{AssertUnwindSafe, catch_unwind};

use trafilatura::{Metadata, Options, dom::Document, extract_document};
use url::Url;

use super::{blocks::Block, walk};

/// What the extractor made of a page.
pub struct Draft {
    /// What it chose, as blocks of its own rendering.
    pub blocks: Vec<Block>,
    /// What it found about the page.
    pub metadata: Metadata,
}

/// Asks the extractor. None when it finds nothing, or trips over the page: there are other ways to read it.
pub fn draft(page: &Document, url: &str) -> Option<Draft> {
    let mut options = Options::default().with_fallback(true).with_exclude_comments(true);
    options.original_url = Url::parse(url).ok();
    let result = catch_unwind(AssertUnwindSafe(|| extract_document(prepared(page), &options))).ok()?.ok()?;
    let content = Document::parse(&result.content_html);
    Some(Draft { blocks: walk::blocks(&content, content.root()), metadata: result.metadata })
}

/// Elements that the extractor throws away, with the words that follow them in the same paragraph.
const THROWN: [&str; 8] = ["svg", "noscript", "script", "style", "template", "wbr", "object", "canvas"];
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
    // A listing or a quotation in a figure is no picture.
    for figure in page.iter(root, &["figure"]) {
        if walk::is_of_words(&page, figure) {
            page.set_tag_name(figure, "div");
        }
    }
    page
}
