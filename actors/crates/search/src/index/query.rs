//! Queries of the index, and what they find.

use uuid::Uuid;

use super::passage::{Source, SparseVector};

/// Restricts a query. All conditions that are given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// In this half of the library.
    pub source: Option<Source>,
    /// Passages of documents in this collection.
    pub collection: Option<Uuid>,
    /// Passages of entries of this feed.
    pub feed: Option<Uuid>,
    /// Of one of these documents. An empty list matches nothing.
    pub documents: Option<Vec<Uuid>>,
}

/// A query of the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexQuery {
    /// The words of the query, analysed in each language of the library. Without words the lexical leg finds nothing.
    pub sparse: SparseVector,
    /// The embedding of the query; `None` leaves the dense leg out.
    pub dense: Option<Vec<f32>>,
    /// The filter that the hits of both legs match.
    pub filter: Filter,
    /// Maximum number of hits of each leg.
    pub depth: usize,
}

/// A passage that a leg found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Id of the chunk, which is the passage in the database.
    pub id: Uuid,
    /// BM25 in the lexical leg (above 0), cosine similarity in the dense one (-1 to 1).
    pub score: f32,
}

/// The hits of each leg, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HybridHits {
    /// Passages that share a word with the query.
    pub lexical: Vec<Hit>,
    /// The passages nearest in meaning, at any distance.
    pub dense: Vec<Hit>,
}

impl HybridHits {
    /// Returns the best hits of each leg, at most `depth`: what a search of this depth finds.
    #[must_use]
    pub fn first(&self, depth: usize) -> Self {
        let first = |hits: &[Hit]| hits.iter().take(depth).copied().collect();
        Self { lexical: first(&self.lexical), dense: first(&self.dense) }
    }
}
