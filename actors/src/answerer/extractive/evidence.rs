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
    /// Whether the question has a number, a code or a name that the passages and their titles do not contain.
    pub lacks_specific: bool,
    /// Whether none of the sentences contains what the question word asks for, such as a date.
    pub lacks_expected: bool,
}

/// Minimum sum of the three measures, each of which is at most 1.
const MIN_SCORE: f32 = 1.35;
/// Added to the minimum if no sentence contains what the question word asks for.
const UNEXPECTED_ANSWER_PENALTY: f32 = 0.2;
/// Minimum coverage where there are no similarities.
const MIN_COVERAGE: f32 = 0.5;

impl Evidence {
    /// Returns whether the documents seem to contain an answer.
    pub fn is_answerable(self) -> bool {
        if self.lacks_specific {
            return false;
        }
        match (self.sentence, self.passage) {
            (Some(sentence), Some(passage)) => {
                let penalty = if self.lacks_expected { UNEXPECTED_ANSWER_PENALTY } else { 0.0 };
                sentence + passage + self.coverage >= MIN_SCORE + penalty
            }
            (Some(_), None) | (None, Some(_)) | (None, None) => self.coverage >= MIN_COVERAGE,
        }
    }
}
