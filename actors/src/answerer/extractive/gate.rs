//! Decides whether the documents that an answer would quote contain an answer at all.

/// The measures of how well these documents match the question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// Cosine similarity of the nearest sentence that would be quoted.
    pub sentence: Option<f32>,
    /// Cosine similarity of the nearest passage.
    pub passage: Option<f32>,
    /// Largest weighted share of the question's words that one passage with its title contains, from 0 to 1.
    pub coverage: f32,
}

/// Minimum sum of the three measures, each of which is at most 1.
const MIN_SCORE: f32 = 1.35;
/// Minimum coverage where there are no similarities.
const MIN_COVERAGE: f32 = 0.5;

/// Returns whether the documents seem to contain an answer.
pub(super) fn is_answerable(evidence: &Evidence) -> bool {
    match (evidence.sentence, evidence.passage) {
        (Some(sentence), Some(passage)) => sentence + passage + evidence.coverage >= MIN_SCORE,
        (Some(_), None) | (None, Some(_)) | (None, None) => evidence.coverage >= MIN_COVERAGE,
    }
}
