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
    let page = page.clone_document();
    let result = catch_unwind(AssertUnwindSafe(|| extract_document(page, &options))).ok()?.ok()?;
    let content = Document::parse(&result.content_html);
    Some(Draft { blocks: walk::blocks(&content, content.root()), metadata: result.metadata })
}
