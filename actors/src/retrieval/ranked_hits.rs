//! The passages that a search finds, in the order of their relevance.

use std::cmp::Ordering;
use std::collections::HashSet;

use search::calibration::{Relevance, lower_to_falling};
use search::fusion::RankedPassage;
use search::snippet::SnippetTerms;
use values::id::{ChunkId, DocumentId};

use super::spelling::Correction;

/// A passage that matches a query, by its ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchHit {
    /// The id of the passage, which may have been removed from the database meanwhile.
    pub chunk: ChunkId,
    /// The document of the passage.
    pub document: DocumentId,
    /// What the index says of the passage, before its text and its title are compared with the query.
    pub relevance: Relevance,
    /// Calibrated score of the relevance from 0 to 1, falling along the ranking.
    pub score: f32,
    /// Cosine similarity of the embeddings of passage and query, if it was computed.
    pub cosine: Option<f32>,
    /// The share of the attainable BM25 that the metadata passage of the document has; 0 if the query does not find it. The title, tags and
    /// other metadata have at least this share of the terms of the query.
    pub metadata_share: f32,
}

/// The factor of the scores of a doubtful correction: they say what its hits have of the replaced words, not of the words as written.
const DOUBTFUL_FACTOR: f32 = 0.5;

impl RankedHits {
    /// Returns the factor of the score of a document: below 1 if the query that found it may not be what was meant. It is doubtful if the
    /// correction is, and if something is near in meaning to the words as they are written.
    pub fn score_factor(&self, document: DocumentId) -> f32 {
        let Some(correction) = &self.correction else { return 1.0 };
        let is_doubtful = correction.is_doubtful || !self.found_as_written.is_empty();
        if is_doubtful && !self.found_as_written.contains(&document) { DOUBTFUL_FACTOR } else { 1.0 }
    }

    /// Returns these hits, which are those of a corrected query, with what the model finds for the words as they are written: two rankings
    /// whose hits take turns, so that neither hides the other, at most `limit`. The ranking begins whose best hit has the higher score.
    #[must_use]
    pub fn with_correction(self, correction: Correction, written: RankedHits, limit: usize) -> Self {
        let corrected: HashSet<DocumentId> = self.hits.iter().map(|hit| hit.document).collect();
        let is_understood =
            |hit: &SearchHit| written.understood_from.is_some_and(|min_score| hit.score >= min_score);
        let mut others = written.hits;
        others.retain(|hit| is_understood(hit) && !corrected.contains(&hit.document));
        let found_as_written = others.iter().map(|hit| hit.document).collect();
        let is_complete = self.is_complete && written.is_complete;
        let mut ranked = Self { correction: Some(correction), found_as_written, is_complete, ..self };
        let mut hits = std::mem::take(&mut ranked.hits);
        for hit in &mut hits {
            hit.score *= ranked.score_factor(hit.document);
        }
        ranked.hits = take_turns(hits, others, limit);
        lower_to_falling(ranked.hits.iter_mut().map(|hit| &mut hit.score));
        ranked
    }
}

/// Returns the hits of two rankings in turns, at most `limit`.
fn take_turns(a: Vec<SearchHit>, b: Vec<SearchHit>, limit: usize) -> Vec<SearchHit> {
    let best = |hits: &[SearchHit]| hits.first().map_or(f32::NEG_INFINITY, |hit| hit.score);
    let is_second_better = best(&a).total_cmp(&best(&b)) == Ordering::Less;
    let (first, second) = if is_second_better { (b, a) } else { (a, b) };
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut merged = Vec::new();
    loop {
        let next = [first.next(), second.next()];
        if merged.len() >= limit || next.iter().all(Option::is_none) {
            break;
        }
        merged.extend(next.into_iter().flatten());
    }
    merged.truncate(limit);
    merged
}

impl SearchHit {
    /// Returns whether it is the metadata passage of its document, of whose text no passage was found. The id of such a passage is that of
    /// the document.
    pub fn is_metadata(&self) -> bool {
        self.chunk.0 == self.document.0
    }

    /// Returns the hit of a ranked passage, with the cosine similarity if it was computed.
    pub(super) fn new(passage: RankedPassage, cosine: Option<f32>) -> Self {
        let RankedPassage { id, document, relevance, score } = passage;
        Self {
            chunk: ChunkId(id),
            document: DocumentId(document),
            relevance,
            score,
            cosine,
            metadata_share: 0.0,
        }
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankedHits {
    /// The hits, best first, at most [`SearchQuery::limit`](super::SearchQuery::limit).
    pub hits: Vec<SearchHit>,
    /// The text that was searched for and that titles are compared with: `plain` of the query, or of its correction.
    pub searched_text: String,
    /// The words of the query with their weights, to compare passages and titles with.
    pub terms: SnippetTerms,
    /// Whether the searched part of the library has no further results: all hits are here, except further passages of the same documents. It
    /// may be false although there are none.
    pub is_complete: bool,
    /// Whether the search was only lexical: the AI is paused, no model is available, the index has lost passages of the user, or the time of
    /// a search for phrases was up before all passages were read.
    pub lexical_only: bool,
    /// Whether passages may be missing that have words of the query: the index may lack words of the user, such as those of a large import, or
    /// was not reached, so that the database was searched instead, or the time was up before all passages with phrases were read or a misspelt
    /// query was corrected. No hits do not mean then that there is nothing.
    pub may_lack_passages: bool,
    /// Whether a passage in the searched part of the library has a word of the query.
    pub shares_words: bool,
    /// Whether the words of the query may be misspelt: no passage of the library has one of them.
    pub may_be_misspelt: bool,
    /// The score from which on a hit shows, although no passage has a word of the query, that the model understands the words as they are
    /// written; `None` if it does not. They are results beside those of a correction.
    pub understood_from: Option<f32>,
    /// The documents that were found for the query as it is written, if the other hits are those of its correction.
    pub found_as_written: HashSet<DocumentId>,
    /// The query whose hits these are, if it is not the one that was asked for: misspelt words are replaced by words of the library. Hits in
    /// `found_as_written` are those of the query that was asked for.
    pub correction: Option<Correction>,
}

#[cfg(test)]
mod tests {
    use search::calibration::RetrievalMeasures;
    use search::query_syntax::ParsedQuery;
    use uuid::Uuid;

    use super::*;

    fn hit(document: u128, score: f32) -> SearchHit {
        let measures =
            RetrievalMeasures { bm25_share: None, cosine: None, max_missing_cosine: 0.0, terms: 1 };
        let (id, relevance) = (Uuid::from_u128(document), Relevance::of(measures, 1.0));
        SearchHit::new(RankedPassage { id, document: id, relevance, score }, None)
    }

    fn hits(documents: &[(u128, f32)]) -> RankedHits {
        let hits = documents.iter().map(|(document, score)| hit(*document, *score)).collect();
        RankedHits { hits, is_complete: true, ..RankedHits::default() }
    }

    fn correction(is_doubtful: bool) -> Correction {
        let (query, text) = (ParsedQuery::of("wafer"), "wafer".to_owned());
        Correction { query, replacements: vec![text.clone()], text, is_doubtful }
    }

    fn scores(ranked: &RankedHits) -> Vec<(u128, f32)> {
        ranked.hits.iter().map(|hit| (hit.document.0.as_u128(), hit.score)).collect()
    }

    #[test]
    fn correction_replaces_what_no_model_understands() {
        let written = hits(&[(1, 0.9)]);
        let found = hits(&[(2, 0.8), (3, 0.4)]);

        let ranked = found.clone().with_correction(correction(false), written.clone(), 9);
        assert_eq!(scores(&ranked), [(2, 0.8), (3, 0.4)]);
        let doubtful = found.with_correction(correction(true), written, 9);
        assert_eq!(scores(&doubtful), [(2, 0.4), (3, 0.2)]);
        assert_eq!(doubtful.score_factor(DocumentId(Uuid::from_u128(2))), 0.5);
    }

    #[test]
    fn hits_of_understood_words_and_of_the_correction_take_turns() {
        let written =
            RankedHits { understood_from: Some(0.5), ..hits(&[(1, 0.7), (2, 0.65), (4, 0.6), (5, 0.4)]) };
        let found = hits(&[(2, 0.8), (3, 0.4)]);

        let ranked = found.clone().with_correction(correction(false), written.clone(), 9);

        assert_eq!(scores(&ranked), [(1, 0.7), (2, 0.4), (4, 0.4), (3, 0.2)]);
        let factor = |document| ranked.score_factor(DocumentId(Uuid::from_u128(document)));
        assert_eq!([factor(1), factor(2), factor(3), factor(4)], [1.0, 0.5, 0.5, 1.0]);
        assert!(ranked.is_complete && ranked.correction.is_some());
        let first = found.with_correction(correction(false), written, 3);
        assert_eq!(scores(&first), [(1, 0.7), (2, 0.4), (4, 0.4)]);
    }

    #[test]
    fn correction_comes_first_if_its_best_hit_is_better() {
        let written = RankedHits { understood_from: Some(0.0), ..hits(&[(1, 0.36)]) };

        let ranked = hits(&[(2, 0.9)]).with_correction(correction(false), written, 9);

        assert_eq!(scores(&ranked), [(2, 0.45), (1, 0.36)]);
    }
}
