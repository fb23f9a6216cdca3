//! Extracts the text of a PDF, in reading order, and its metadata.
//!
//! Each step is a file and sees only the result of the step before: [`glyphs`] (characters with positions), [`rotation`] (each
//! direction upright), [`accents`], [`words`], [`initials`], [`columns`] (reading order), [`lines`], [`bidi`] (right to left),
//! [`flow`] (paragraphs, hyphenation). No step loses a letter; the time of each is bounded for a page. Characters keep their places
//! through all steps ([`placed_text`]), so [`runs`] can be drawn over a picture of the page ([`picture`]).

mod accents;
mod bidi;
mod columns;
mod flow;
mod glyphs;
mod initials;
mod layer;
mod letters;
mod lines;
mod metadata;
mod outline;
mod page_size;
mod picture;
mod placed_text;
mod rotation;
mod rows;
mod runs;
#[cfg(test)]
mod sample;
mod strings;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_interpret::kurbo::{Affine, Rect};
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, interpret_page};
use hayro_syntax::page::Page;
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use serde::{Deserialize, Serialize};

pub use layer::{PageLayer, read_page_layer};
pub use metadata::PdfMetadata;
pub(crate) use outline::MAX_HEADING_LEVEL;
pub use outline::OutlineEntry;
pub use page_size::{PageSize, read_page_sizes};
pub use picture::{PagePicture, draw_page};
pub use runs::{TextRect, TextRun};

use glyphs::{Glyph, GlyphCollector};
use placed_text::PlacedText;

/// Separates the pages in the text that [`read_pdf`] returns; it occurs nowhere else in it.
pub const PAGE_SEPARATOR: char = '\u{c}';

/// The most pages of a document: more than any book has.
const MAX_PAGES: usize = 20_000;

/// Why a PDF has no text, in words for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum PdfError {
    /// It opens only with a password. Files with an empty user password are read.
    #[error("the file is protected by a password")]
    PasswordProtected,
    /// It is encrypted with an algorithm that the parser does not support.
    #[error("the encryption of the file is not supported")]
    UnknownEncryption,
    /// It is not a PDF, has no page, or the parser failed on a page and no other has text.
    #[error("the file is damaged or not a PDF")]
    Damaged,
    /// No page has text and some page shows an image, as in a scan.
    #[error("the pages are images without text")]
    ImagesOnly,
    /// No page has text or shows an image.
    #[error("the pages are empty")]
    Empty,
    /// It contains text, but its fonts do not map glyphs to characters.
    #[error("the fonts of the file do not map to letters, so its text cannot be read")]
    UnmappedFonts,
    /// It has more than 20,000 pages.
    #[error("the file has more than 20,000 pages")]
    TooManyPages,
}

/// Reads a PDF: its metadata, and the text of its pages with [`PAGE_SEPARATOR`] between them.
///
/// # Errors
/// A [`PdfError`] if no page has text that can be read. A file that is read in part causes no error;
/// [`PdfMetadata`] counts what is missing.
pub fn read_pdf(bytes: Vec<u8>) -> Result<(PdfMetadata, String), PdfError> {
    // Checked before parsing, which takes the bytes and repairs a truncated file silently.
    let is_truncated = is_truncated(&bytes);
    let pdf = open(bytes)?;
    let outline = outline::read_outline(&pdf);
    let metadata = metadata::read_metadata(&pdf);
    let (text, statistics) = extract_text(&pdf, &outline)?;
    Ok((
        PdfMetadata {
            outline,
            image_only_pages: statistics.scans,
            unreadable_pages: statistics.broken,
            is_truncated,
            ..metadata
        },
        text,
    ))
}

/// Opens a document that has pages, and not too many.
fn open(bytes: Vec<u8>) -> Result<Pdf, PdfError> {
    let pdf = Pdf::new(bytes).map_err(pdf_error)?;
    match pdf.pages().len() {
        0 => Err(PdfError::Damaged),
        1..=MAX_PAGES => Ok(pdf),
        _ => Err(PdfError::TooManyPages),
    }
}

/// Returns whether a file has no end marker (ISO 32000-1, section 7.5.5), or begins another object behind the last one. A linearised file
/// has a marker near its beginning too, and some files have other bytes behind the last.
fn is_truncated(bytes: &[u8]) -> bool {
    const END: &[u8] = b"%%EOF";
    let Some(end) = bytes.windows(END.len()).rposition(|window| window == END) else { return true };
    bytes.get(end..).is_some_and(|rest| rest.windows(OBJECT_HEADER_BYTES).any(begins_object))
}

/// The shortest header of an object, in bytes.
const OBJECT_HEADER_BYTES: usize = 8;

/// Returns whether these bytes end as an object begins: `7 0 obj`, and no more letters.
fn begins_object(bytes: &[u8]) -> bool {
    let [number, b' ', version, b' ', b'o', b'b', b'j', behind] = bytes else { return false };
    number.is_ascii_digit() && version.is_ascii_digit() && !behind.is_ascii_alphanumeric()
}

fn pdf_error(error: LoadPdfError) -> PdfError {
    match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => PdfError::PasswordProtected,
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => PdfError::UnknownEncryption,
        LoadPdfError::Decryption(DecryptionError::MissingIDEntry | DecryptionError::InvalidEncryption)
        | LoadPdfError::Invalid => PdfError::Damaged,
    }
}

/// Counts over all pages, which tell why a document has no text.
#[derive(Default)]
struct PageStatistics {
    unknown: usize,
    pictures: usize,
    /// Pages without a word that show a picture.
    scans: usize,
    broken: usize,
}

fn extract_text(pdf: &Pdf, outline: &[OutlineEntry]) -> Result<(String, PageStatistics), PdfError> {
    let mut cache = InterpreterCache::new();
    let (mut text, mut statistics) = (String::new(), PageStatistics::default());
    for (page, number) in pdf.pages().iter().zip(1u32..) {
        if number > 1 {
            // A page that fails still has its separator, so the numbers of the pages after it are right.
            text.push(PAGE_SEPARATOR);
        }
        match collect_page(page, pdf, &cache) {
            Some(collected) => {
                statistics.unknown += collected.unknown;
                statistics.pictures += collected.pictures;
                let has_picture = collected.pictures > 0;
                let page = lay_out(collected, headings_of(outline, number));
                statistics.scans += usize::from(has_picture && page.is_empty());
                text.push_str(&page.to_string());
            }
            None => {
                statistics.broken += 1;
                // A cache in which the parser panicked may be inconsistent.
                cache = InterpreterCache::new();
            }
        }
    }
    match statistics {
        _ if text.chars().any(|c| !c.is_whitespace()) => Ok((text, statistics)),
        // The order matters: a page that failed may have had the text, and a picture
        // explains less than unknown letters.
        PageStatistics { broken: 1.., .. } => Err(PdfError::Damaged),
        PageStatistics { unknown: 1.., .. } => Err(PdfError::UnmappedFonts),
        PageStatistics { pictures: 1.., .. } => Err(PdfError::ImagesOnly),
        PageStatistics { .. } => Err(PdfError::Empty),
    }
}

/// Returns the keys of the outline titles of the sections that begin on a page.
fn headings_of(outline: &[OutlineEntry], number: u32) -> HashSet<String> {
    outline.iter().filter(|entry| entry.page == Some(number)).map(|entry| flow::key(&entry.title)).collect()
}

/// Returns the glyphs of a page; `None` if the parser panicked, which costs one page.
fn collect_page<'a>(page: &Page<'a>, pdf: &'a Pdf, cache: &InterpreterCache<'a>) -> Option<GlyphCollector> {
    catch_unwind(AssertUnwindSafe(|| collect(page, pdf, cache))).ok()
}

/// Returns the glyphs of a page in a frame whose y grows downwards.
fn collect<'a>(page: &Page<'a>, pdf: &'a Pdf, cache: &InterpreterCache<'a>) -> GlyphCollector {
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width), f64::from(height));
    let frame = Affine::new(page.initial_transform(true).as_coeffs());
    let seen = Rect::new(0.0, 0.0, width, height);
    let mut context = Context::new(frame, seen, cache, pdf.xref(), InterpreterSettings::default());
    let mut collector = GlyphCollector::new(width, height);
    interpret_page(page, &mut context, &mut collector);
    collector
}

/// Returns the text of a page, clean and without white space at either end.
fn lay_out(collected: GlyphCollector, headings: HashSet<String>) -> PlacedText {
    let right_to_left = |glyphs: &[Glyph]| bidi::direction(glyphs.iter()).unwrap_or(false);
    let mut page = flow::PageContext { right_to_left: false, headings };
    let mut text = PlacedText::default();
    for upright in rotation::rotate_upright(collected.glyphs) {
        // Each direction of rotated text is a page of its own, with its own columns and base direction.
        page.right_to_left = right_to_left(&upright.glyphs);
        let words = words::words(accents::join(upright.glyphs));
        let size = columns::usual_size(&words);
        let parts = columns::regions(initials::join(words, size), page.right_to_left);
        let parts: Vec<_> = parts.into_iter().map(lines::lines).collect();
        let mut upright_text = flow::lay_out_text(&parts, &page);
        upright_text.turn(upright.turn);
        if !text.is_empty() && !upright_text.is_empty() {
            text.push_str("\n\n");
        }
        text.append(upright_text);
    }
    text.cleaned()
}
