//! Converts what a search knows of a passage to a score. Plain functions: no index, no model, no clock.
//!
//! A score is the probability, as far as it was fitted, that the passage is about what the query asks for. It is a logistic function
//! of three measures whose bounds depend on nothing but the query and the passage:
//!
//! - the share of the attainable BM25. The best BM25 of each term of the query alone, in the whole library of the user, adds up to a
//!   bound of BM25 ([`weigh_terms`]), so the share is comparable between queries;
//! - the cosine similarity of the embeddings, on the standard scale of all models ([`Calibration`]);
//! - once the text is loaded, which of the terms passage and title contain, and how far the title is the query.
//!
//! So scores of different queries can be compared, and 0.5 separates results from noise: a passage with all the words of a query has
//! more, one with a common word of several has less. Words and meaning are judged together and meaning is judged alone; the better
//! judgement counts, so a shared word lowers no score.
//!
//! The constants meet the anchors that the tests of this module list. `tests/quality/calibrate.py --check` judges them by the results of
//! the set in tests/quality/library: the scores separate relevant results from others with an area under the ROC curve of 0.98, and the F1
//! at the threshold of 0.5 is within 0.03 of that of the best threshold. Constants that the script fits to half of the set (all but the minimum
//! cosines, `UNKNOWN_WORDS_PENALTY` and `MIN_MEANING_LOGIT`) were worse on the other half: 0.94.

use inference::embedder::Calibration;

use crate::counts::to_f32;
use crate::title_match::TitleMatch;

/// Maximum number of terms of a query of which the best scores are asked for. Most queries have fewer; each term costs the index one
/// more list of passages.
pub const MAX_PROBED_TERMS: usize = 12;

/// Minimum cosine similarity of a passage that shares no word with the query, when the model knows all words of the query, on the standard
/// scale. The minimum of each model becomes this one ([`Calibration::standard_cosine`]).
const MIN_COSINE: f32 = Calibration::STANDARD.min_cosine;
/// The same for a query of several terms, with the model of the standard scale alone. Measured with all-minilm-l6-v2 on
/// tests/quality/library: unrelated texts reach 0.41 for one or two real words, and 0.36 for more. The minimum of another model is measured
/// with made-up queries of up to three words, and none is known that more of them do not exceed.
const MIN_COSINE_OF_SEVERAL_TERMS: f32 = 0.37;
/// Number of terms from which on a query has several.
const SEVERAL_TERMS: usize = 3;
/// Maximum number of terms of a query whose minimum cosine is that of the model ([`RetrievalMeasures::terms`]).
pub const MAX_FEW_TERMS: usize = SEVERAL_TERMS - 1;
/// Added to the minimum cosine when the model hardly knows the words.
const UNKNOWN_WORDS_PENALTY: f32 = 0.3;

/// The logit of 0.35, the score of a passage at the minimum cosine. A passage that shares no word is a result from this score on.
const MIN_MEANING_LOGIT: f32 = -0.619_04;
/// Logit for each 1 of cosine above the minimum.
const MEANING_COSINE: f32 = 9.5;

/// Logit of a passage that shares a word, when words alone count and their share is almost 0.
const WORDS_BASE: f32 = -3.0;
/// Added for the whole attainable BM25.
const WORDS_SHARE: f32 = 6.8;

/// Logit of a passage that shares a word, when meaning counts as much as words and both are at their lowest.
const BOTH_BASE: f32 = -3.0;
/// Added for the whole attainable BM25.
const BOTH_SHARE: f32 = 4.5;
/// Added for the highest cosine.
const BOTH_COSINE: f32 = 2.5;
/// Added for both together.
const BOTH_PRODUCT: f32 = 1.5;

/// Cosine similarities up to this one count as the lowest: unrelated texts have them.
const LOWEST_COSINE: f32 = 0.2;
/// Cosine similarities from this one on count as the highest.
const HIGHEST_COSINE: f32 = 0.8;

/// Subtracted from a passage that shares a word, times the weighted share of the terms that neither passage nor title contains.
const MISSING_TERMS: f32 = 2.4;
/// Added for a title that has all words of the query and no others, in another order.
const TITLE_SHARE: f32 = 1.0;
/// Added for a title that is the query.
const EXACT_TITLE: f32 = 4.0;
/// Minimum logit of a passage whose title is the query, which is a score of 0.95.
const MIN_EXACT_TITLE_LOGIT: f32 = 3.0;

/// Maximum score of a passage that lacks a number in parts of the query, such as a date: one of another date has all other words, and is
/// as near in meaning.
pub const MAX_SCORE_WITHOUT_NUMBER: f32 = 0.4;

/// What the lexical and the dense search say of a passage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relevance {
    measures: RetrievalMeasures,
    dense_weight: f32,
}

/// What the lexical and the dense search measured of a passage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrievalMeasures {
    /// Share of the attainable BM25, from 0 to 1; `None` if the lexical search did not find the passage.
    pub bm25_share: Option<f32>,
    /// Cosine similarity on the standard scale; `None` if the dense search did not find the passage.
    pub cosine: Option<f32>,
    /// Upper bound of the cosine similarity of a passage that the dense search did not find.
    pub max_missing_cosine: f32,
    /// Number of terms of the query, of which several lower the minimum cosine; at most [`MAX_FEW_TERMS`] for a model for which no lower
    /// minimum was measured.
    pub terms: usize,
}

impl Relevance {
    /// Returns the relevance of a passage. The weight of the dense search is from 0 (only words count) to 1.
    #[must_use]
    pub fn of(measures: RetrievalMeasures, dense_weight: f32) -> Self {
        Self { measures, dense_weight }
    }

    /// Returns the logit of the score by words and meaning; `None` if the lexical search did not find the passage.
    fn words_logit(self) -> Option<f32> {
        let RetrievalMeasures { bm25_share, cosine, max_missing_cosine, terms: _ } = self.measures;
        let cosine = cosine.unwrap_or(max_missing_cosine);
        bm25_share.map(|share| words_logit(share, cosine, self.dense_weight))
    }

    /// Returns the logit of the score by meaning alone; `None` if the dense search did not find the passage, or does not count.
    fn meaning_logit(self) -> Option<f32> {
        let cosine = self.measures.cosine.filter(|_| self.dense_weight > 0.0);
        cosine.map(|cosine| meaning_logit(cosine, self.measures.terms, self.dense_weight))
    }

    /// Returns what the searches measured.
    #[must_use]
    pub fn measures(self) -> RetrievalMeasures {
        self.measures
    }

    /// Returns the weight of the dense search, from 0 (only words count) to 1.
    #[must_use]
    pub fn dense_weight(self) -> f32 {
        self.dense_weight
    }

    /// Returns whether the passage is a result: it shares a word with the query, or is near enough in meaning.
    #[must_use]
    pub fn is_result(self) -> bool {
        let is_near = self.meaning_logit().is_some_and(|logit| logit >= MIN_MEANING_LOGIT);
        self.measures.bm25_share.is_some() || is_near
    }

    /// Returns the score of a passage whose text is not read, from 0 to 1.
    #[must_use]
    pub fn score(self) -> f32 {
        self.score_with_text(1.0, TitleMatch::None)
    }

    /// Returns the score of a passage whose text is read, from 0 to 1. `coverage` is the weighted share of the terms of the query that
    /// passage and title contain, from 0 to 1.
    #[must_use]
    pub fn score_with_text(self, coverage: f32, title: TitleMatch) -> f32 {
        let missing = MISSING_TERMS * (1.0 - coverage.clamp(0.0, 1.0));
        let words = self.words_logit().map(|logit| logit - missing);
        let best =
            words.into_iter().chain(self.meaning_logit()).reduce(f32::max).unwrap_or(f32::NEG_INFINITY);
        sigmoid(match title {
            TitleMatch::Exact => (best + EXACT_TITLE).max(MIN_EXACT_TITLE_LOGIT),
            TitleMatch::Share(share) => best + TITLE_SHARE * share,
            TitleMatch::None => best,
        })
    }
}

/// All that the score of a passage whose text was read is computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreMeasures {
    /// What the lexical and the dense search say of the passage.
    pub relevance: Relevance,
    /// The weighted share of the terms of the query that passage and title contain, from 0 to 1.
    pub coverage: f32,
    /// How far the title of the document is the query.
    pub title: TitleMatch,
    /// Whether passage and title lack a number in parts of the query, such as a date.
    pub lacks_number: bool,
}

impl ScoreMeasures {
    /// Returns the score, from 0 to 1.
    #[must_use]
    pub fn score(self) -> f32 {
        let score = self.relevance.score_with_text(self.coverage, self.title);
        if self.lacks_number { score.min(MAX_SCORE_WITHOUT_NUMBER) } else { score }
    }
}

fn words_logit(share: f32, cosine: f32, dense_weight: f32) -> f32 {
    let nearness = ((cosine - LOWEST_COSINE) / (HIGHEST_COSINE - LOWEST_COSINE)).clamp(0.0, 1.0);
    let words = WORDS_BASE + WORDS_SHARE * share;
    let both = BOTH_BASE + BOTH_SHARE * share + BOTH_COSINE * nearness + BOTH_PRODUCT * share * nearness;
    (1.0 - dense_weight) * words + dense_weight * both
}

fn meaning_logit(cosine: f32, terms: usize, dense_weight: f32) -> f32 {
    let of_known_words = if terms < SEVERAL_TERMS { MIN_COSINE } else { MIN_COSINE_OF_SEVERAL_TERMS };
    let min_cosine = of_known_words + UNKNOWN_WORDS_PENALTY * (1.0 - dense_weight);
    MIN_MEANING_LOGIT + MEANING_COSINE * (cosine - min_cosine)
}

fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

/// Returns the weight of each term of a query: the best BM25 that it has alone. `scores` are those of the first of the terms, 0 for a
/// term that no passage has. Such a term counts as much as the rarest other one, and a term that was not asked for as much as the mean
/// of those that were. The sum is the attainable BM25 of the query. If no passage has any of the terms, all weigh 1.
#[must_use]
pub fn weigh_terms(scores: &[f32], terms: usize) -> Vec<f32> {
    let highest = scores.iter().copied().fold(0.0, f32::max);
    if highest <= 0.0 {
        return vec![1.0; terms];
    }
    let asked: Vec<f32> = scores.iter().map(|score| if *score > 0.0 { *score } else { highest }).collect();
    let mean = asked.iter().sum::<f32>() / to_f32(asked.len().max(1));
    asked.into_iter().chain(std::iter::repeat(mean)).take(terms).collect()
}

/// Returns the share of the attainable BM25 that a passage has, from 0 to 1.
#[must_use]
pub fn bm25_share(bm25: f32, attainable: f32) -> f32 {
    if attainable > f32::EPSILON { (bm25 / attainable).clamp(0.0, 1.0) } else { 0.0 }
}

/// Lowers each score to the lowest of those before it, so that they fall along a ranking. A score depends on no later one: a search for
/// more results returns the same scores.
pub fn lower_to_falling<'a>(scores: impl Iterator<Item = &'a mut f32>) {
    let mut lowest = f32::INFINITY;
    for score in scores {
        lowest = lowest.min(*score);
        *score = lowest;
    }
}

#[cfg(test)]
mod tests;
