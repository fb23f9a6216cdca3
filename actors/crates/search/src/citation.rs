//! Citations of an answer: what its markers point at, and whether what it quotes is really there (spec.md: Citation;
//! contract.md, section 11). Plain: no model, no index, no rows.
//!
//! What holds of every answer, whatever a model wrote: citations are numbered from 1 without gaps, in the order in which
//! the answer names them; each marker `[n]` points at one of them; a citation's quote is what stands in its passage at its
//! offsets; and only a quotation that was found there, up to white space and case, is verified. A marker without a passage
//! is taken out. Where there is no quotation, or one that was invented, the quote is the passage's sentence that is nearest
//! to what the answer says, and not verified.

mod marker;
mod nearest_sentence;
mod plain_text;
mod quotation;

use std::ops::Range;

use marker::Marker;
pub use quotation::Folded;

/// An answer whose markers and citations fit each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cited {
    /// Plain text with markers.
    pub text: String,
    /// `citations[n - 1]` is what `[n]` points at.
    pub citations: Vec<Citation>,
}

impl Cited {
    /// Whether it says nothing but markers.
    pub fn is_empty(&self) -> bool {
        let markers = marker::all(&self.text);
        let words = marker::rewrite(&self.text, &markers, &vec![None; markers.len()]);
        !words.chars().any(char::is_alphanumeric)
    }
}

/// What a marker points at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Place of the passage among those that were given.
    pub passage: usize,
    /// What stands in the passage at `range`.
    pub quote: String,
    /// In Unicode scalar values of the passage.
    pub range: Range<usize>,
    /// The answer quotes it, and it is there.
    pub verified: bool,
}

/// Reads an answer in which `[n]` stands for the n-th of these passages.
pub fn cite(answer: &str, passages: &[&str]) -> Cited {
    let folded: Vec<Folded> = passages.iter().map(|text| Folded::of(text)).collect();
    let markers = marker::all(answer);
    let mut made = Making { answer, passages, folded: &folded, citations: Vec::new(), keys: Vec::new() };
    let said = made.quotations(&markers);
    let mut places: Vec<Option<Vec<usize>>> = Vec::with_capacity(markers.len());
    for (at, marker) in markers.iter().enumerate() {
        places
            .push(said.get(at).and_then(Option::as_ref).map(|said| made.number(&markers, at, marker, said)));
    }
    let text = marker::rewrite(answer, &markers, &places);
    Cited { text: plain_text::plain(&text), citations: made.citations }
}

/// What an answer says just before a marker, for each passage that the marker names.
struct Said {
    passages: Vec<(usize, Source)>,
}

/// Where a citation's quote comes from; two markers with the same source of the same passage are one citation.
#[derive(Clone, PartialEq, Eq)]
enum Source {
    /// A quotation that is in the passage, at this range.
    Found(Range<usize>),
    /// A quotation that is not; in bytes of the answer.
    Invented(Range<usize>),
    /// No quotation.
    None,
}

struct Making<'a> {
    answer: &'a str,
    passages: &'a [&'a str],
    folded: &'a [Folded],
    citations: Vec<Citation>,
    keys: Vec<(usize, Source)>,
}

impl Making<'_> {
    /// What each marker says; `None` for a marker within a quotation that was found: it is part of the source's text.
    fn quotations(&self, markers: &[Marker]) -> Vec<Option<Said>> {
        let mut said: Vec<Option<Said>> = Vec::with_capacity(markers.len());
        let mut quoted: Option<Range<usize>> = None;
        // From the end: a quotation is known before the markers within it are looked at.
        for (at, marker) in markers.iter().enumerate().rev() {
            if quoted.as_ref().is_some_and(|quoted| quoted.contains(&marker.range.start)) {
                said.push(None);
                continue;
            }
            let candidates = quotation::before(self.answer, group_start(self.answer, markers, at));
            let is_first = group_start(self.answer, markers, at) == marker.range.start;
            let mut passages = Vec::with_capacity(marker.numbers.len());
            for (nth, passage) in marker.passages(self.passages.len()).enumerate() {
                let (source, range) = self.source(passage, &candidates, is_first && nth == 0);
                if let Some(range) = range {
                    quoted = Some(range);
                }
                passages.push((passage, source));
            }
            said.push(Some(Said { passages }));
        }
        said.reverse();
        said
    }

    /// The longest quotation that the passage holds, with its range in the answer. One that it does not hold is said of
    /// the first marker behind it alone.
    fn source(
        &self,
        passage: usize,
        candidates: &[Range<usize>],
        is_first: bool,
    ) -> (Source, Option<Range<usize>>) {
        let text = |range: &Range<usize>| self.answer.get(range.clone()).unwrap_or_default();
        let found = candidates.iter().rev().find_map(|range| {
            let found = self.folded.get(passage)?.find(text(range))?;
            Some((Source::Found(found), Some(range.clone())))
        });
        let nearest = candidates.first().filter(|range| is_first && !text(range).trim().is_empty());
        found
            .or_else(|| nearest.map(|range| (Source::Invented(range.clone()), None)))
            .unwrap_or((Source::None, None))
    }

    /// The numbers that stand for a marker from now on.
    fn number(&mut self, markers: &[Marker], at: usize, marker: &Marker, said: &Said) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::with_capacity(said.passages.len());
        for (passage, source) in &said.passages {
            // What quotes nothing has no share in a quotation of the same passage that was verified.
            let same = |key: &(usize, Source)| key.0 == *passage && key.1 == *source;
            let place = match self.keys.iter().position(same) {
                Some(place) => place,
                None => {
                    let before = at.checked_sub(1).and_then(|before| markers.get(before));
                    let claim = before.map_or(0, |before| before.range.end)..marker.range.start;
                    let Some(citation) = self.citation(*passage, source, claim) else { continue };
                    self.citations.push(citation);
                    self.keys.push((*passage, source.clone()));
                    self.citations.len() - 1
                }
            };
            if !numbers.contains(&(place + 1)) {
                numbers.push(place + 1);
            }
        }
        numbers
    }

    fn citation(&self, passage: usize, source: &Source, claim: Range<usize>) -> Option<Citation> {
        let text = *self.passages.get(passage)?;
        let range = match source {
            Source::Found(range) => range.clone(),
            Source::Invented(said) => nearest_sentence::sentence(text, self.answer.get(said.clone())?),
            Source::None => nearest_sentence::sentence(text, self.answer.get(claim)?),
        };
        let quote = text::slice_chars(text, range.start, range.end)?.to_owned();
        Some(Citation { passage, quote, range, verified: matches!(source, Source::Found(_)) })
    }
}

/// Where the row of markers begins that this one stands in: `[1][2]` share what stands before them.
fn group_start(answer: &str, markers: &[Marker], at: usize) -> usize {
    let mut start = markers.get(at).map_or(0, |marker| marker.range.start);
    for before in markers.get(..at).unwrap_or_default().iter().rev() {
        match answer.get(before.range.end..start) {
            Some(between) if between.chars().all(|c| c.is_whitespace() || c == ',') => {
                start = before.range.start;
            }
            Some(_) | None => break,
        }
    }
    start
}

#[cfg(test)]
mod tests;
