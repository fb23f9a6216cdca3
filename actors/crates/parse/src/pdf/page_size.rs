//! The sizes of pages as they are shown.

use hayro_syntax::page::Page;
use serde::{Deserialize, Serialize};

use super::{PdfError, open};

/// The smallest and the largest length of a side that is used: a page of less or more is damaged.
const SIDE_RANGE: std::ops::RangeInclusive<f32> = 1.0..=100_000.0;
/// The side of a page whose size is damaged: that of a square inch times ten.
const DEFAULT_SIDE: f32 = 720.0;

/// The size of a page as it is shown: cropped, and turned as the document says. In units of the page (1/72 inch).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PageSize {
    /// Its width, from 1 to 100,000.
    pub width: f32,
    /// Its height, from 1 to 100,000.
    pub height: f32,
}

impl PageSize {
    /// Returns the size of a page.
    pub(super) fn of(page: &Page<'_>) -> Self {
        let (width, height) = page.render_dimensions();
        let side = |side: f32| if SIDE_RANGE.contains(&side) { side } else { DEFAULT_SIDE };
        Self { width: side(width), height: side(height) }
    }
}

/// Reads the sizes of all pages, at most 20,000.
///
/// # Errors
/// A [`PdfError`] if the file cannot be opened.
pub fn read_page_sizes(bytes: Vec<u8>) -> Result<Vec<PageSize>, PdfError> {
    let pdf = open(bytes)?;
    Ok(pdf.pages().iter().map(PageSize::of).collect())
}
