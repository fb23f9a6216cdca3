//! Splits a text into the passages that are searched, cited and shown.
//!
//! A heading starts a passage. Paragraphs are split only if they are too long, then at lines, sentences and words. Every character of the
//! text is in exactly one passage; white space between two belongs to the first. Grapheme clusters are not split. The same text with the
//! same headings gives the same passages, independent of models and settings, so the ids of passages are stable. Time is linear in the
//! text.

mod block;
mod level;
mod note;
mod pack;
mod sentence;
mod sizing;
mod tokens;

use std::ops::Range;

pub use sizing::Sizing;
pub use tokens::estimate;

use level::Level;
use pack::{Atom, Gap};

/// A passage of a text. Offsets count Unicode scalar values.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Offset of its first scalar value in the whole text.
    pub start: usize,
    /// Offset of its end in the whole text, where the next passage begins.
    pub end: usize,
    /// The same range in bytes.
    pub bytes: Range<usize>,
    /// Page number from 1; `None` unless the text was split by [`split_pages`].
    pub page: Option<u32>,
    /// Start in seconds of the recording. Splitting leaves it `None`; for a transcript the caller sets it afterwards.
    pub start_seconds: Option<f64>,
    /// End in seconds of the recording, set like `start_seconds`.
    pub end_seconds: Option<f64>,
}

impl Piece {
    /// Returns the text of the passage; `text` is the text that was split.
    pub fn text_in<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.bytes.clone()).unwrap_or_default()
    }
}

/// Splits a text into passages, in order. Empty text has none.
///
/// `headings` are the ascending offsets of known headings; lines that look like headings count as headings too.
pub fn split(text: &str, headings: &[usize], size: &Sizing) -> Vec<Piece> {
    let mut builder = PassageBuilder::new(text, headings);
    builder.add(text, None, size);
    builder.pieces
}

/// Splits a text with pages into passages that do not cross the end of a page; `headings` as in [`split`].
///
/// `page_starts` are the ascending offsets at which pages begin, the first for page 1, which also includes the text before it. A page
/// without text has no passage.
pub fn split_pages(text: &str, page_starts: &[usize], headings: &[usize], size: &Sizing) -> Vec<Piece> {
    let ends = page_starts.iter().skip(1).copied().chain([usize::MAX]);
    let (mut builder, mut rest, mut at) = (PassageBuilder::new(text, headings), text, 0);
    for (number, end) in (1..).zip(ends) {
        // Each page is cut from the rest, not from the whole text: offsets count characters, and counting from the
        // start each time takes quadratic time.
        let page = crate::slice_chars(rest, 0, end.saturating_sub(at)).unwrap_or(rest);
        rest = rest.get(page.len()..).unwrap_or_default();
        at = at.max(end);
        builder.add(page, Some(number), size);
    }
    builder.pieces
}

/// Returns the byte ranges of the sentences of a text, without the white space around them and the marks of footnotes behind them
/// (`.[1]`). A blank line ends a sentence too.
pub fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> {
    // Text written by a user keeps its line endings, which are of one kind.
    let blank = if text.contains("\r\n\r\n") { "\r\n\r\n" } else { "\n\n" };
    let mut from = 0;
    let paragraphs = text.split(blank).map(move |paragraph| {
        let at = from;
        from += paragraph.len() + blank.len();
        (at, paragraph)
    });
    paragraphs.flat_map(|(at, paragraph)| {
        let mut from = 0;
        let ends: Vec<usize> = sentence::starts(paragraph).chain([paragraph.len()]).collect();
        ends.into_iter().filter_map(move |to| {
            let whole = paragraph.get(from..to)?;
            let start = at + from + (whole.len() - whole.trim_start().len());
            from = to;
            let text = sentence::without_notes(whole.trim());
            (!text.is_empty()).then_some(start..start + text.len())
        })
    })
}

/// Collects the passages of a text, part by part.
struct PassageBuilder {
    pieces: Vec<Piece>,
    /// Offset of the next passage, in scalar values.
    chars: usize,
    /// Offset of the next passage, in bytes.
    bytes: usize,
    /// Byte offsets of the known headings, ascending.
    headings: Vec<usize>,
}

impl PassageBuilder {
    fn new(text: &str, headings: &[usize]) -> Self {
        let mut remaining = headings.iter().copied().peekable();
        let offsets = text.char_indices().enumerate().filter_map(|(at, (byte, _))| {
            // Offsets of headings are turned into bytes in one pass. Equal ones, and those past the end, are dropped.
            let is_next = remaining.next_if_eq(&at).is_some();
            while remaining.next_if(|next| *next <= at).is_some() {}
            is_next.then_some(byte)
        });
        Self { headings: offsets.collect(), pieces: Vec::new(), chars: 0, bytes: 0 }
    }

    /// Returns the byte offsets of the headings in the next part, relative to its start.
    fn headings_of(&self, part: &str) -> Vec<usize> {
        let (from, to) = (self.bytes, self.bytes + part.len());
        // By binary search: a scan from the first heading on would take quadratic time for a long PDF.
        let first = self.headings.partition_point(|at| *at < from);
        let own = self.headings.iter().skip(first).take_while(|at| **at < to);
        own.map(|at| at - from).collect()
    }

    /// Adds the passages of the next part of the text. Parts must be given in order and without gaps.
    fn add(&mut self, part: &str, page: Option<u32>, size: &Sizing) {
        let mut from = 0;
        for to in ends(part, &self.headings_of(part), size) {
            let piece = part.get(from..to).unwrap_or_default();
            let (start, first) = (self.chars, self.bytes);
            self.chars += piece.chars().count();
            self.bytes += piece.len();
            self.pieces.push(Piece {
                start,
                end: self.chars,
                bytes: first..self.bytes,
                page,
                start_seconds: None,
                end_seconds: None,
            });
            from = to;
        }
    }
}

/// Returns the byte offsets at which passages end; the last is the length of the text.
fn ends(text: &str, headings: &[usize], size: &Sizing) -> Vec<usize> {
    if text.trim().is_empty() {
        // Blank text is one passage, because every character is in exactly one.
        return Some(text.len()).filter(|length| *length > 0).into_iter().collect();
    }
    let (mut ends, mut atoms) = (Vec::new(), Vec::new());
    let mut section_tokens = 0;
    for block in block::blocks(text, headings) {
        // Sections are packed one by one, so that no passage crosses a heading that starts one.
        if block.heading && section_tokens >= size.min_section_tokens() {
            pack::pack(&atoms, block.range.start, size, &mut ends);
            atoms.clear();
            section_tokens = 0;
        }
        let gap = if block.heading { Gap::Heading } else { Gap::Paragraph };
        section_tokens += Divider { text, size, headings_end: block.body }.divide(
            block.range,
            gap,
            Level::Line,
            &mut atoms,
        );
    }
    pack::pack(&atoms, text.len(), size, &mut ends);
    if section_tokens < size.min_section_tokens() {
        join_last(text, size, &mut ends);
    }
    ends
}

/// Joins a last section that is too short for a passage with the passage before it, if both fit into one.
fn join_last(text: &str, size: &Sizing, ends: &mut Vec<usize>) {
    let Some(joint) = ends.len().checked_sub(2) else { return };
    let start = joint.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    if (size.tokens)(text.get(start..).unwrap_or_default()) <= size.max {
        // Removing an end joins the two passages around it.
        ends.remove(joint);
    }
}

/// Divides a block level by level until its parts fit into a passage.
struct Divider<'a> {
    text: &'a str,
    size: &'a Sizing,
    /// End of the headings of the block, which are kept together with the following text if possible.
    headings_end: usize,
}

impl Divider<'_> {
    /// Adds the parts of `range` and returns their number of tokens. `gap` is the boundary before the range.
    fn divide(&self, range: Range<usize>, gap: Gap, level: Level, atoms: &mut Vec<Atom>) -> usize {
        let part = self.text.get(range.clone()).unwrap_or_default();
        let tokens = (self.size.tokens)(part);
        let finer = match level.finer() {
            Some(finer) if tokens > self.size.max => finer,
            Some(_) | None => return self.push(Atom { start: range.start, tokens, gap }, atoms),
        };
        let (mut from, mut before, mut sum) = (range.start, gap, 0);
        for cut in level.cuts(part) {
            let cut = range.start + cut;
            // No cut up to the end of the headings: they would be a passage without text, which is found by
            // its words and says nothing.
            if cut > self.headings_end || level.is_last_resort() {
                sum += self.divide(from..cut, before, finer, atoms);
                (from, before) = (cut, level.gap());
            }
        }
        sum + self.divide(from..range.end, before, finer, atoms)
    }

    fn push(&self, atom: Atom, atoms: &mut Vec<Atom>) -> usize {
        match atoms.last_mut() {
            Some(last) if last.tokens + atom.tokens <= self.size.min_atom_tokens() => {
                last.tokens += atom.tokens;
            }
            Some(_) | None => atoms.push(atom),
        }
        atom.tokens
    }
}

#[cfg(test)]
mod tests;
