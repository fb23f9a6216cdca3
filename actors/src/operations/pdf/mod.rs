//! Shows the pages of a PDF: their sizes, their text layers and their pictures. Passages and highlights are found on them by the same
//! offsets as everywhere else.

mod layer;
mod pages;
mod rects;

use entity::document;
use std::sync::Arc;

use sandbox::DrawnPage;
use values::id::DocumentId;
use values::kind::ContentType;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::pdf_pages::PictureWidth;
use errors::Error;

pub use layer::{PdfRun, ReadPdfPage, ReadPdfPageResponse};
pub use pages::{PdfPage, ReadPdfPages, ReadPdfPagesResponse};
pub use rects::{LocateOnPdfPage, LocateOnPdfPageResponse, LocatePdfText, LocatePdfTextResponse, PdfRect};

/// Returns the picture of a page, counted from 1, as a WebP file, with the version of the document that it shows.
///
/// # Errors
/// [`Error::NotFound`] when the caller has no such PDF, or it has no such page; [`Error::Conflict`] with the reason when the picture cannot
/// be made.
pub async fn draw_page(
    ctx: &OperationContext,
    caller: &Caller,
    document: DocumentId,
    number: u32,
    width: PictureWidth,
) -> Result<Arc<DrawnPage>, Error> {
    let document = find_pdf(ctx, caller, document).await?;
    ctx.pdf_pages.picture(&document, number, width).await
}

/// Returns the version of a PDF, which changes whenever its pages may look different.
///
/// # Errors
/// [`Error::NotFound`] when the caller has no such PDF.
pub async fn version_of(ctx: &OperationContext, caller: &Caller, document: DocumentId) -> Result<i32, Error> {
    Ok(find_pdf(ctx, caller, document).await?.version)
}

async fn find_pdf(
    ctx: &OperationContext,
    caller: &Caller,
    document: DocumentId,
) -> Result<document::Model, Error> {
    let found = document::Entity::one_visible_to(caller.user, document).one(ctx.core.db.read()).await?;
    found.filter(|document| document.content_type == ContentType::Pdf).ok_or(Error::not_found())
}
