//! The text of a PDF: pages in reading order, and what the document says about itself.
//!
//! Each step is a file and sees only what the one before it made: [`glyphs`] (characters with places), [`turn`] (each
//! direction upright), [`accents`], [`words`], [`initials`], [`columns`] (reading order), [`lines`], [`bidi`] (right to left),
//! [`flow`] (paragraphs, broken words). No step loses a letter; each takes time that is bounded for a page.

mod accents;
mod bidi;
mod columns;
mod facts;
mod flow;
mod glyphs;
mod initials;
mod letters;
mod lines;
mod outline;
mod rows;
#[cfg(test)]
mod sample;
mod strings;
#[cfg(test)]
mod tests;
mod turn;
mod words;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_interpret::kurbo::{Affine, Rect};
use hayro_interpret::{Context, InterpreterCache, InterpreterSettings, interpret_page};
use hayro_syntax::page::Page;
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use serde::{Deserialize, Serialize};

pub use facts::Facts;
pub use outline::Entry;
pub(crate) use outline::RANKS;

use glyphs::{Collector, Glyph};

/// Stands between two pages in the text that [`read`] gives, and nowhere else in it.
pub const PAGE_END: char = '\u{c}';

/// More pages than any book has.
const MOST_PAGES: usize = 20_000;

/// Why a PDF has no text, in words for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NoText {
    /// It opens with a password alone.
    #[error("the file is protected by a password")]
    Protected,
    /// It is encrypted in a way that is not known.
    #[error("the file is encrypted in a way that is not read")]
    Encrypted,
    /// It is no PDF, or too little of one is left.
    #[error("the file is damaged, or no PDF")]
    Damaged,
    /// A scan.
    #[error("the pages are pictures: there is no text")]
    Pictures,
    /// Nothing is on its pages.
    #[error("the pages are empty")]
    Empty,
    /// There is text to be seen, but the file does not tell which letters it is.
    #[error("the file's fonts do not tell which letters they show")]
    Unlettered,
    /// More than are taken.
    #[error("the file has more than 20,000 pages")]
    TooManyPages,
}

/// Reads a PDF: what it says about itself, and the text of its pages with [`PAGE_END`] between each two.
///
/// # Errors
/// See [`NoText`].
pub fn read(bytes: Vec<u8>) -> Result<(Facts, String), NoText> {
    let cut_off = is_cut_off(&bytes);
    let pdf = Pdf::new(bytes).map_err(refused)?;
    match pdf.pages().len() {
        0 => return Err(NoText::Damaged),
        1..=MOST_PAGES => {}
        _ => return Err(NoText::TooManyPages),
    }
    let outline = outline::read(&pdf);
    let said = facts::read(&pdf);
    let (text, seen) = text(&pdf, &outline)?;
    Ok((Facts { outline, pictures: seen.scans, broken: seen.broken, cut_off, ..said }, text))
}

/// Whether a file has no sign of an end (ISO 32000-1, section 7.5.5), or begins another object behind the last: one that is
/// made to be shown early has a sign near its beginning too. Some have something else behind it.
fn is_cut_off(bytes: &[u8]) -> bool {
    const END: &[u8] = b"%%EOF";
    let Some(end) = bytes.windows(END.len()).rposition(|window| window == END) else { return true };
    bytes.get(end..).is_some_and(|rest| rest.windows(BEGINS).any(begins_object))
}

/// Bytes of the shortest beginning of an object.
const BEGINS: usize = 8;

/// Whether these bytes end as an object begins: `7 0 obj`, and no more letters.
fn begins_object(bytes: &[u8]) -> bool {
    let [number, b' ', version, b' ', b'o', b'b', b'j', behind] = bytes else { return false };
    number.is_ascii_digit() && version.is_ascii_digit() && !behind.is_ascii_alphanumeric()
}

fn refused(error: LoadPdfError) -> NoText {
    match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => NoText::Protected,
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => NoText::Encrypted,
        LoadPdfError::Decryption(DecryptionError::MissingIDEntry | DecryptionError::InvalidEncryption)
        | LoadPdfError::Invalid => NoText::Damaged,
    }
}

/// What was seen on all pages.
#[derive(Default)]
struct Seen {
    unknown: usize,
    pictures: usize,
    /// Pages without a word that show a picture.
    scans: usize,
    broken: usize,
}

fn text(pdf: &Pdf, outline: &[Entry]) -> Result<(String, Seen), NoText> {
    let mut cache = InterpreterCache::new();
    let (mut text, mut seen) = (String::new(), Seen::default());
    for (page, number) in pdf.pages().iter().zip(1u32..) {
        if number > 1 {
            text.push(PAGE_END);
        }
        let headings =
            outline.iter().filter(|entry| entry.page == Some(number)).map(|entry| flow::key(&entry.title));
        // A page on which the parser gives up costs that page; its cache may be left in pieces.
        match catch_unwind(AssertUnwindSafe(|| collect(page, pdf, &cache))) {
            Ok(collected) => {
                seen.unknown += collected.unknown;
                seen.pictures += collected.pictures;
                let has_picture = collected.pictures > 0;
                let page = lay_out(collected, headings.collect());
                seen.scans += usize::from(has_picture && page.trim().is_empty());
                text.push_str(&page);
            }
            Err(_) => {
                seen.broken += 1;
                cache = InterpreterCache::new();
            }
        }
    }
    match seen {
        _ if text.chars().any(|c| !c.is_whitespace()) => Ok((text, seen)),
        Seen { broken: 1.., .. } => Err(NoText::Damaged),
        Seen { unknown: 1.., .. } => Err(NoText::Unlettered),
        Seen { pictures: 1.., .. } => Err(NoText::Pictures),
        Seen { .. } => Err(NoText::Empty),
    }
}

/// The glyphs of a page in a frame whose y grows downwards.
fn collect<'a>(page: &Page<'a>, pdf: &'a Pdf, cache: &InterpreterCache<'a>) -> Collector {
    let (width, height) = page.render_dimensions();
    let (width, height) = (f64::from(width), f64::from(height));
    let frame = Affine::new(page.initial_transform(true).as_coeffs());
    let seen = Rect::new(0.0, 0.0, width, height);
    let mut context = Context::new(frame, seen, cache, pdf.xref(), InterpreterSettings::default());
    let mut collector = Collector::new(width, height);
    interpret_page(page, &mut context, &mut collector);
    collector
}

fn lay_out(collected: Collector, headings: HashSet<String>) -> String {
    let right_to_left = |glyphs: &[Glyph]| bidi::direction(glyphs.iter()).unwrap_or(false);
    let mut page = flow::Page { right_to_left: false, headings };
    let mut text = String::new();
    for glyphs in turn::upright(collected.glyphs) {
        page.right_to_left = right_to_left(&glyphs);
        let words = words::words(accents::join(glyphs));
        let size = columns::usual_size(&words);
        let parts = columns::regions(initials::join(words, size), page.right_to_left);
        let parts: Vec<_> = parts.into_iter().map(lines::lines).collect();
        let turned = flow::text(&parts, &page);
        if !text.is_empty() && !turned.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&turned);
    }
    text
}
