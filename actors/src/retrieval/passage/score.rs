//! Scores passages by what their text and their title have of the query. A document whose title is the query comes first, and one that
//! lacks a number in parts of the query, such as a date, comes last.

use search::calibration::{MAX_SCORE_WITHOUT_NUMBER, ScoreMeasures, lower_to_falling};
use search::snippet::{PassageExtract, SnippetMatcher, SnippetTerms};
use search::title_match::{TitleMatch, TitleMatcher};

use super::Passage;

/// How much more of the query the metadata must have than passage and title for a number that they lack to be in it, as in a tag.
const MIN_METADATA_LEAD: f32 = 0.25;

/// A passage with what is shown of it.
pub struct ScoredPassage {
    /// The passage.
    pub passage: Passage,
    /// Plain text around the best match.
    pub snippet: String,
    /// What the score is computed from.
    pub measures: ScoreMeasures,
    /// Calibrated score from 0 to 1, which counts its text and its title.
    pub score: f32,
}

/// Returns the best of these passages with their scores, at most `limit`: those first whose title is the query, and those last that lack a
/// number in parts of the query, otherwise in their order, which is that of the fused ranking.
pub fn score_passages(
    passages: Vec<Passage>,
    query: &str,
    terms: &SnippetTerms,
    limit: usize,
) -> Vec<ScoredPassage> {
    let matcher = TitleMatcher::new(query);
    let compare =
        |passage: Passage| (matcher.compare(&passage.row.title), lacks_number(&passage, terms), passage);
    let mut titled: Vec<(TitleMatch, bool, Passage)> = passages.into_iter().map(compare).collect();
    // A stable sort. Only an exact title and a missing number change the order: how much of a title the query has is in the words of the
    // passage already.
    titled.sort_by_key(|(title, lacks_number, _)| (*title != TitleMatch::Exact, *lacks_number));
    titled.truncate(limit);
    let mut matcher = SnippetMatcher::new(terms);
    let scored = titled.into_iter().map(|(title, lacks_number, passage)| {
        let PassageExtract { snippet, coverage } = matcher.extract(&passage.row.title, &passage.row.text);
        let metadata_share = passage.found.metadata_share;
        let lacks_number = lacks_number && metadata_share < coverage + MIN_METADATA_LEAD;
        // What the metadata contains counts too, such as a tag.
        let coverage = coverage.max(metadata_share);
        let measures = ScoreMeasures { relevance: passage.found.relevance, coverage, title, lacks_number };
        ScoredPassage { passage, snippet, measures, score: measures.score() }
    });
    let mut scored: Vec<ScoredPassage> = scored.collect();
    // Those come before that have the number in their metadata.
    scored.sort_by_key(|passage| passage.measures.lacks_number);
    lower_to_falling(scored.iter_mut().map(|passage| &mut passage.score));
    scored
}

/// Moves the passages of documents whose title is the query before all others, and those that lack a number in parts of the query after all
/// others, with a low score. The order is kept otherwise.
pub fn order_as_results(passages: &mut [Passage], query: &str, terms: &SnippetTerms) {
    let matcher = TitleMatcher::new(query);
    passages
        .sort_by_cached_key(|passage| (!matcher.is_exact(&passage.row.title), lacks_number(passage, terms)));
    for passage in passages.iter_mut().rev().take_while(|passage| lacks_number(passage, terms)) {
        passage.found.score = passage.found.score.min(MAX_SCORE_WITHOUT_NUMBER);
    }
}

/// Returns whether a passage and the title of its document lack a number in parts of the query.
fn lacks_number(passage: &Passage, terms: &SnippetTerms) -> bool {
    terms.has_number_missing_from(&[passage.row.title.as_str(), passage.row.text.as_str()])
}

#[cfg(test)]
mod tests;
