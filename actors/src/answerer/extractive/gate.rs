//! Whether the passages hold an answer at all.

/// What was seen of the best passages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Cosine of the nearest sentence.
    pub sentence: Option<f32>,
    /// Cosine of the nearest passage.
    pub passage: Option<f32>,
    /// Share of the question's words, rare ones first, that one passage holds: 0 to 1.
    pub covered: f32,
}

/// The least sum of the three.
const LEAST: f32 = 1.35;
/// The least share of the words where there are words alone.
const LEAST_WORDS: f32 = 0.5;

/// Opens where the passages seem to hold an answer.
pub(super) fn opens(seen: &Seen) -> bool {
    match (seen.sentence, seen.passage) {
        (Some(sentence), Some(passage)) => sentence + passage + seen.covered >= LEAST,
        (Some(_), None) | (None, Some(_)) | (None, None) => seen.covered >= LEAST_WORDS,
    }
}
