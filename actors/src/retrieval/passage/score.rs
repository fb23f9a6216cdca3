//! Scores passages by what their text and their title have of the query. A document whose title is the query comes first.

use search::calibration::{ScoreMeasures, lower_to_falling};
use search::snippet::{PassageExtract, SnippetMatcher, SnippetTerms};
use search::title_match::{TitleMatch, TitleMatcher};

use super::Passage;

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

/// Returns the best of these passages with their scores, at most `limit`: those first whose title is the query, otherwise in their order,
/// which is that of the fused ranking.
pub fn score_passages(
    passages: Vec<Passage>,
    query: &str,
    terms: &SnippetTerms,
    limit: usize,
) -> Vec<ScoredPassage> {
    let matcher = TitleMatcher::new(query);
    let mut titled: Vec<(TitleMatch, Passage)> =
        passages.into_iter().map(|passage| (matcher.compare(&passage.row.title), passage)).collect();
    // A stable sort. Only an exact title changes the order: how much of a title the query has is in the words of the passage already.
    titled.sort_by_key(|(title, _)| *title != TitleMatch::Exact);
    titled.truncate(limit);
    let mut matcher = SnippetMatcher::new(terms);
    let scored = titled.into_iter().map(|(title, passage)| {
        let PassageExtract { snippet, coverage } = matcher.extract(&passage.row.title, &passage.row.text);
        // What the metadata contains counts too, such as a tag.
        let coverage = coverage.max(passage.found.metadata_share);
        let measures = ScoreMeasures { relevance: passage.found.relevance, coverage, title };
        ScoredPassage { passage, snippet, measures, score: measures.score() }
    });
    let mut scored: Vec<ScoredPassage> = scored.collect();
    lower_to_falling(scored.iter_mut().map(|passage| &mut passage.score));
    scored
}

/// Moves the passages of documents whose title is the query before all others. The order is kept otherwise.
pub fn move_exact_titles_first(passages: &mut [Passage], query: &str) {
    let matcher = TitleMatcher::new(query);
    passages.sort_by_cached_key(|passage| !matcher.is_exact(&passage.row.title));
}

#[cfg(test)]
mod tests;
