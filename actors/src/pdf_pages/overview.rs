//! The pages of a PDF: their sizes, and where their texts are.

use parse::pdf::PageSize;

use super::page_spans::PageSpan;

/// The pages of a version of a document.
#[derive(Debug)]
pub struct PdfOverview {
    /// The sizes of the pages in order.
    pub sizes: Vec<PageSize>,
    /// Where the text of each page is in the text of the document, in the order of the pages; a page without text has none.
    pub spans: Vec<PageSpan>,
}
