//! The text layer of one page: what is drawn invisibly over its picture, so that its words can be chosen.

use hayro_interpret::InterpreterCache;
use hayro_syntax::Pdf;
use serde::{Deserialize, Serialize};

use super::placed_text::PlacedText;
use super::runs::{self, TextRun};
use super::{PageSize, PdfError, collect_page, headings_of, lay_out, open, outline};

/// The text layer of one page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageLayer {
    /// Its size as it is shown.
    pub size: PageSize,
    /// The text of the page as [`read_pdf`](super::read_pdf) returns it.
    pub text: String,
    /// The runs of the text in its order. Their offsets count from the start of this text.
    pub runs: Vec<TextRun>,
}

/// Reads the text layer of a page, counted from 1; `None` if the document has no such page. The steps are those of
/// [`read_pdf`](super::read_pdf), so its text is the same.
///
/// # Errors
/// A [`PdfError`] if the file cannot be opened, or the page cannot be read.
pub fn read_page_layer(bytes: Vec<u8>, number: u32) -> Result<Option<PageLayer>, PdfError> {
    let pdf = open(bytes)?;
    let Some(page) = usize::try_from(number).ok().and_then(|n| pdf.pages().get(n.checked_sub(1)?)) else {
        return Ok(None);
    };
    let placed = place_text(&pdf, number).ok_or(PdfError::Damaged)?;
    Ok(Some(PageLayer { size: PageSize::of(page), text: placed.to_string(), runs: runs::runs(&placed) }))
}

fn place_text(pdf: &Pdf, number: u32) -> Option<PlacedText> {
    let page = pdf.pages().get(usize::try_from(number).ok()?.checked_sub(1)?)?;
    let outline = outline::read_outline(pdf);
    let collected = collect_page(page, pdf, &InterpreterCache::new())?;
    Some(lay_out(collected, headings_of(&outline, number)))
}
