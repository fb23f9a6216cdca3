//! Citations of an answer: which passages its markers refer to, and whether its quotations are in them (spec.md: Citation;
//! contract.md, section 11). Plain functions: no model, no index, no rows.
//!
//! The following holds for every answer, whatever a model wrote. Citations are numbered from 1 without gaps, in the order in which
//! the answer refers to them. Each marker `[n]` refers to one of them. The quote of a citation is the text at its range in its
//! passage. Only a quotation that was found there, up to white space and case, is verified. A marker without a passage is removed.
//! If there is no quotation, or an invented one, the quote is the sentence of the passage that is nearest to what the answer says,
//! and is not verified.
//!
//! All other text of an answer stays as it is, also markup such as `vector<int>` or `![x](y)`: an answer is plain text (spec.md:
//! POST /ask), which a surface escapes where it shows it (row I1).

mod marker;
mod nearest_sentence;
mod quotation;

use std::ops::Range;

pub use marker::has_words;

use marker::CitationMarker;
use quotation::FoldedText;

/// An answer with its citations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CitedAnswer {
    /// Plain text with markers `[n]`, whose numbers begin at 1. It is not escaped for HTML or Markdown.
    pub text: String,
    /// `citations[n - 1]` belongs to the marker `[n]`.
    pub citations: Vec<Citation>,
}

impl CitedAnswer {
    /// Returns whether the answer consists of markers only.
    pub fn is_empty(&self) -> bool {
        !has_words(&self.text)
    }
}

/// The passage that a marker refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Position of the passage among those that were given, from 0.
    pub passage: usize,
    /// The text of the passage at `range`.
    pub quote: String,
    /// Range in Unicode scalar values of the passage.
    pub range: Range<usize>,
    /// Whether the answer quotes this text, up to white space and case.
    pub verified: bool,
}

/// Resolves the markers of an answer in which `[n]` refers to the n-th of these passages, and verifies its quotations.
pub fn cite(answer: &str, passages: &[&str]) -> CitedAnswer {
    let folded: Vec<FoldedText> = passages.iter().map(|text| FoldedText::of(text)).collect();
    let markers = marker::find_all(answer);
    let mut builder =
        CitationBuilder { answer, passages, folded: &folded, citations: Vec::new(), keys: Vec::new() };
    let claims = builder.claims(&markers);
    let mut numbers: Vec<Option<Vec<usize>>> = Vec::with_capacity(markers.len());
    for (at, marker) in markers.iter().enumerate() {
        let claim = claims.get(at).and_then(Option::as_ref);
        numbers.push(claim.map(|claim| builder.number(&markers, at, marker, claim)));
    }
    let text = marker::rewrite(answer, &markers, &numbers);
    CitedAnswer { text, citations: builder.citations }
}

/// The claim of an answer just before a marker: the passages that the marker refers to, each with the quotation of it.
struct MarkerClaim {
    passages: Vec<(usize, QuotedText)>,
}

/// The quotation before a marker. Two markers with the same quotation of the same passage share a citation.
#[derive(Clone, PartialEq, Eq)]
enum QuotedText {
    /// The passage contains it, at this range in scalar values.
    Found(Range<usize>),
    /// The passage does not contain it. Range in bytes of the answer.
    Invented(Range<usize>),
    /// No quotation stands before the marker.
    None,
}

struct CitationBuilder<'a> {
    answer: &'a str,
    passages: &'a [&'a str],
    folded: &'a [FoldedText],
    citations: Vec<Citation>,
    /// For each citation its passage and quotation.
    keys: Vec<(usize, QuotedText)>,
}

impl CitationBuilder<'_> {
    /// Returns the claim before each marker; `None` for a marker inside of a quotation that was found, where it is part of the passage's text.
    fn claims(&self, markers: &[CitationMarker]) -> Vec<Option<MarkerClaim>> {
        let mut claims: Vec<Option<MarkerClaim>> = Vec::with_capacity(markers.len());
        let mut quoted: Option<Range<usize>> = None;
        // Backwards, so that a quotation is found before the markers inside of it are visited.
        for (at, marker) in markers.iter().enumerate().rev() {
            if quoted.as_ref().is_some_and(|quoted| quoted.contains(&marker.range.start)) {
                claims.push(None);
                continue;
            }
            let candidates = quotation::find_before(self.answer, group_start(self.answer, markers, at));
            let is_first = group_start(self.answer, markers, at) == marker.range.start;
            let mut passages = Vec::with_capacity(marker.numbers.len());
            for (nth, passage) in marker.passages(self.passages.len()).enumerate() {
                let (quotation, range) = self.find_quotation(passage, &candidates, is_first && nth == 0);
                if let Some(range) = range {
                    quoted = Some(range);
                }
                passages.push((passage, quotation));
            }
            claims.push(Some(MarkerClaim { passages }));
        }
        claims.reverse();
        claims
    }

    /// Returns the longest of the candidates that the passage contains, with its range in the answer. An invented quotation is attributed to the
    /// first marker behind it only.
    fn find_quotation(
        &self,
        passage: usize,
        candidates: &[Range<usize>],
        is_first: bool,
    ) -> (QuotedText, Option<Range<usize>>) {
        let text = |range: &Range<usize>| self.answer.get(range.clone()).unwrap_or_default();
        let found = candidates.iter().rev().find_map(|range| {
            let found = self.folded.get(passage)?.find(text(range))?;
            Some((QuotedText::Found(found), Some(range.clone())))
        });
        let nearest = candidates.first().filter(|range| is_first && !text(range).trim().is_empty());
        found
            .or_else(|| nearest.map(|range| (QuotedText::Invented(range.clone()), None)))
            .unwrap_or((QuotedText::None, None))
    }

    /// Returns the numbers of the citations that a marker refers to. Adds those that are new.
    fn number(
        &mut self,
        markers: &[CitationMarker],
        at: usize,
        marker: &CitationMarker,
        claim: &MarkerClaim,
    ) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::with_capacity(claim.passages.len());
        for (passage, quotation) in &claim.passages {
            // A claim without a quotation does not share the citation of a verified quotation of the same passage.
            let is_same = |key: &(usize, QuotedText)| key.0 == *passage && key.1 == *quotation;
            let index = match self.keys.iter().position(is_same) {
                Some(index) => index,
                None => {
                    let before = at.checked_sub(1).and_then(|before| markers.get(before));
                    let sentence = before.map_or(0, |before| before.range.end)..marker.range.start;
                    let Some(citation) = self.citation(*passage, quotation, sentence) else { continue };
                    self.citations.push(citation);
                    self.keys.push((*passage, quotation.clone()));
                    self.citations.len() - 1
                }
            };
            if !numbers.contains(&(index + 1)) {
                numbers.push(index + 1);
            }
        }
        numbers
    }

    fn citation(&self, passage: usize, quotation: &QuotedText, sentence: Range<usize>) -> Option<Citation> {
        let text = *self.passages.get(passage)?;
        let range = match quotation {
            QuotedText::Found(range) => range.clone(),
            QuotedText::Invented(range) => nearest_sentence::find(text, self.answer.get(range.clone())?),
            QuotedText::None => nearest_sentence::find(text, self.answer.get(sentence)?),
        };
        let quote = text::slice_chars(text, range.start, range.end)?.to_owned();
        Some(Citation { passage, quote, range, verified: matches!(quotation, QuotedText::Found(_)) })
    }
}

/// Start of the group of adjacent markers that this one belongs to: `[1][2]` share the claim before them.
fn group_start(answer: &str, markers: &[CitationMarker], at: usize) -> usize {
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
