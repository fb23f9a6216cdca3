//! The passages that a search finds, in the order of their relevance.

use values::id::{ChunkId, DocumentId};

/// A passage that matches a query, by its ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchHit {
    /// The id of the passage, which may have been removed from the database meanwhile.
    pub chunk: ChunkId,
    /// The document of the passage.
    pub document: DocumentId,
    /// Relevance, from 0 to 1.
    pub score: f32,
    /// Cosine similarity of the embeddings of passage and query, if it was computed.
    pub cosine: Option<f32>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankedHits {
    /// The hits, best first, at most [`SearchQuery::limit`](super::SearchQuery::limit).
    pub hits: Vec<SearchHit>,
    /// Whether the search was only lexical: the AI is paused, no model is available, or the index has lost passages of the user.
    pub lexical_only: bool,
}
