//! Splits a text into the passages that are searched, cited and shown.
//!
//! A heading starts a passage, paragraphs stay whole while they fit, then lines, sentences and words do.
//! Every character of the text is in exactly one passage, white space between two in the former, and no
//! grapheme cluster is parted. The same text with the same headings gives the same passages wherever it is split: no model and
//! no setting has a say, so ids of passages last. Time is linear in the text.

mod block;
mod level;
mod pack;
mod sentence;
mod tokens;

use std::ops::Range;

pub use tokens::estimate;

use level::Level;
use pack::{Atom, Gap};

/// A passage of a text. Offsets count Unicode scalar values.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Where it begins.
    pub start: usize,
    /// Where it ends; the next one begins here.
    pub end: usize,
    /// The same range in bytes.
    pub bytes: Range<usize>,
    /// The page that it stands on, counted from 1, where the text has pages.
    pub page: Option<u32>,
    /// When it begins to be spoken, where the text was spoken.
    pub start_seconds: Option<f64>,
    /// When it has been spoken.
    pub end_seconds: Option<f64>,
}

impl Piece {
    /// The passage's own text, out of the text that was split.
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.bytes.clone()).unwrap_or_default()
    }
}

/// How long passages are to be, in tokens of an embedding model.
#[derive(Debug, Clone, Copy)]
pub struct Sizing {
    /// Counts the tokens of a text, or nearly so. Linear, and the same answer for the same text for ever:
    /// passages change with it.
    pub tokens: fn(&str) -> usize,
    /// The length that is aimed at.
    pub target: usize,
    /// The length that is not passed, unless a single grapheme cluster is longer.
    pub max: usize,
}

impl Default for Sizing {
    /// For models that see 512 tokens, of which a title takes some. Measured: 190 and 230 cost up to two points of nDCG@10.
    fn default() -> Self {
        Self { tokens: estimate, target: 400, max: 480 }
    }
}

impl Sizing {
    /// Headings do not part what is shorter than this: a title and a byline alone are no passage.
    fn least(&self) -> usize {
        self.target / 4
    }

    /// Neighbours that are no longer than this together are not parted: it keeps the number of places at which
    /// a text may be cut in proportion to its length.
    fn crumb(&self) -> usize {
        self.target / 8
    }
}

/// The passages of a text, in its order. Empty text has none.
///
/// `headings` are the offsets, in order, at which headings are known to begin; lines that look like one are taken for one too.
pub fn split(text: &str, headings: &[usize], size: &Sizing) -> Vec<Piece> {
    let mut pieces = Pieces::of(text, headings);
    pieces.add(text, None, size);
    pieces.done
}

/// The passages of a text that has pages, none reaching over the end of its page; `headings` as in [`split`].
///
/// `page_starts` are the offsets at which pages begin, in order, the first being page 1; what stands before it
/// counts to it. A page without text has no passage.
pub fn split_pages(text: &str, page_starts: &[usize], headings: &[usize], size: &Sizing) -> Vec<Piece> {
    let ends = page_starts.iter().skip(1).copied().chain([usize::MAX]);
    let (mut pieces, mut rest, mut at) = (Pieces::of(text, headings), text, 0);
    for (number, end) in (1..).zip(ends) {
        let page = crate::slice_chars(rest, 0, end.saturating_sub(at)).unwrap_or(rest);
        rest = rest.get(page.len()..).unwrap_or_default();
        at = at.max(end);
        pieces.add(page, Some(number), size);
    }
    pieces.done
}

/// The sentences of a text, in bytes, without the white space around them. A blank line ends one too.
pub fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> {
    // A text that a person gave keeps the line endings that it came with, and those are of one kind.
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
            let text = whole.trim();
            (!text.is_empty()).then_some(start..start + text.len())
        })
    })
}

/// Passages so far, and where the next one begins.
struct Pieces {
    done: Vec<Piece>,
    chars: usize,
    bytes: usize,
    /// Where headings begin, in bytes of the text.
    headings: Vec<usize>,
}

impl Pieces {
    fn of(text: &str, headings: &[usize]) -> Self {
        let mut wanted = headings.iter().copied().peekable();
        let places = text.char_indices().enumerate().filter_map(|(at, (byte, _))| {
            let is_next = wanted.next_if_eq(&at).is_some();
            while wanted.next_if(|next| *next <= at).is_some() {}
            is_next.then_some(byte)
        });
        Self { headings: places.collect(), done: Vec::new(), chars: 0, bytes: 0 }
    }

    /// The headings of the next part, as places in it.
    fn headings_of(&self, part: &str) -> Vec<usize> {
        let (from, to) = (self.bytes, self.bytes + part.len());
        let first = self.headings.partition_point(|at| *at < from);
        let own = self.headings.iter().skip(first).take_while(|at| **at < to);
        own.map(|at| at - from).collect()
    }

    /// Adds the passages of the next part of the text.
    fn add(&mut self, part: &str, page: Option<u32>, size: &Sizing) {
        let mut from = 0;
        for to in ends(part, &self.headings_of(part), size) {
            let piece = part.get(from..to).unwrap_or_default();
            let (start, first) = (self.chars, self.bytes);
            self.chars += piece.chars().count();
            self.bytes += piece.len();
            self.done.push(Piece {
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

/// The byte offsets at which passages end, the last being the length of the text.
fn ends(text: &str, headings: &[usize], size: &Sizing) -> Vec<usize> {
    if text.trim().is_empty() {
        return Some(text.len()).filter(|length| *length > 0).into_iter().collect();
    }
    let (mut ends, mut atoms) = (Vec::new(), Vec::new());
    let mut gathered = 0;
    for block in block::blocks(text, headings) {
        if block.heading && gathered >= size.least() {
            pack::pack(&atoms, block.range.start, size, &mut ends);
            atoms.clear();
            gathered = 0;
        }
        let gap = if block.heading { Gap::Heading } else { Gap::Paragraph };
        gathered +=
            Divider { text, size, glued: block.body }.divide(block.range, gap, Level::Line, &mut atoms);
    }
    pack::pack(&atoms, text.len(), size, &mut ends);
    if gathered < size.least() {
        join_last(text, size, &mut ends);
    }
    ends
}

/// Lets a last section that is too short for a passage go with what stands before it, if the two fit.
fn join_last(text: &str, size: &Sizing, ends: &mut Vec<usize>) {
    let Some(joint) = ends.len().checked_sub(2) else { return };
    let start = joint.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or(0);
    if (size.tokens)(text.get(start..).unwrap_or_default()) <= size.max {
        ends.remove(joint);
    }
}

/// Divides a block as far down as it takes to make its parts fit.
struct Divider<'a> {
    text: &'a str,
    size: &'a Sizing,
    /// Up to here headings stand, which stay with what follows while that is possible at all.
    glued: usize,
}

impl Divider<'_> {
    /// Adds the parts of `range` and gives their tokens. `gap` is what stands before the range.
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
            if cut > self.glued || level.is_last_resort() {
                sum += self.divide(from..cut, before, finer, atoms);
                (from, before) = (cut, level.gap());
            }
        }
        sum + self.divide(from..range.end, before, finer, atoms)
    }

    fn push(&self, atom: Atom, atoms: &mut Vec<Atom>) -> usize {
        match atoms.last_mut() {
            Some(last) if last.tokens + atom.tokens <= self.size.crumb() => last.tokens += atom.tokens,
            Some(_) | None => atoms.push(atom),
        }
        atom.tokens
    }
}

#[cfg(test)]
mod tests;
