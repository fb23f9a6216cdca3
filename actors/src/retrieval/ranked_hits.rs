//! The passages that a search finds, in the order of their relevance.

use search::calibration::Relevance;
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
    /// Returns the factor of the scores of all hits: below 1 if the query may not be what was meant.
    pub fn score_factor(&self) -> f32 {
        let is_doubtful = self.correction.as_ref().is_some_and(|correction| correction.is_doubtful);
        if is_doubtful { DOUBTFUL_FACTOR } else { 1.0 }
    }
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
    /// Whether the search was only lexical: the AI is paused, no model is available, or the index has lost passages of the user.
    pub lexical_only: bool,
    /// Whether a passage in the searched part of the library has a word of the query.
    pub shares_words: bool,
    /// Whether the words of the query may be misspelt: no passage of the library has one of them, and the model does not know each of
    /// them or finds nothing that is near in meaning. A service does not show what it knows, so it must find a good hit.
    pub may_be_misspelt: bool,
    /// The query whose hits these are, if it is not the one that was asked for: misspelt words are replaced by words of the library.
    pub correction: Option<Correction>,
}
