//! What the page of every document shows beside its text.

use actors::operations::reading::{ReadPage, ReadPageResponse};
use errors::Error;

use super::page_view::ReaderView;
use crate::web::page::request::PageRequest;

/// A document with what stands around its text.
pub struct ReaderPage {
    /// The document.
    pub document: ReadPageResponse,
    /// What templates show of it.
    pub view: ReaderView,
}

/// Reads the document that the path names.
///
/// # Errors
/// [`Error::NotFound`] when the user has no such document; those of the database.
pub async fn load(request: &PageRequest) -> Result<ReaderPage, Error> {
    let document = request.run(ReadPage(request.target().id(0)?)).await?;
    let view = ReaderView::new(&document, request);
    Ok(ReaderPage { document, view })
}
