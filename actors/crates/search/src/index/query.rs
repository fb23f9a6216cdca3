//! Queries of the index, and what they find.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;
use values::kind::ContentType;

use super::passage::{Embedding, Labels, Source, SparseVector};

/// Restricts a query. All conditions that are given must hold. The default matches all passages of a tenant.
///
/// What a user can change at any time, such as tags and collections, is no label of a passage: the database resolves it to `documents`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The source: bookmarks or feeds.
    pub source: Option<Source>,
    /// Passages of entries of this feed.
    pub feed: Option<Uuid>,
    /// Passages of documents of this type.
    pub content_type: Option<ContentType>,
    /// The documents that are searched.
    pub documents: DocumentSet,
    /// Passages of these documents match whatever their source, feed and type: those in the index may be former ones. They must be in
    /// `documents` all the same.
    pub or_documents: Vec<Uuid>,
}

impl Filter {
    /// Returns whether the filter matches all passages of a tenant.
    #[must_use]
    pub fn matches_all(&self) -> bool {
        let Self { source, feed, content_type, documents, or_documents: _ } = self;
        let has_labels = source.is_some() || feed.is_some() || content_type.is_some();
        !has_labels && *documents == DocumentSet::All
    }

    /// Returns whether passages with these labels match, if they are of one of the documents that are searched.
    #[must_use]
    pub fn accepts(&self, labels: &Labels) -> bool {
        let Self { source, feed, content_type, documents: _, or_documents: _ } = self;
        source.is_none_or(|source| labels.source == source)
            && feed.is_none_or(|feed| labels.feed == Some(feed))
            && content_type.is_none_or(|kind| labels.content_type == kind)
    }
}

/// A set of documents, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DocumentSet {
    /// All documents.
    #[default]
    All,
    /// These documents. An empty list matches nothing.
    Only(Vec<Uuid>),
    /// All documents but these. An empty list matches all.
    Except(Vec<Uuid>),
}

/// A query of the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexQuery {
    /// The words of the query, analysed in each language of the library. Without words the lexical search finds nothing.
    pub sparse: SparseVector,
    /// Single terms of the query, each with all its words, whose best scores are wanted ([`HybridHits::term_scores`]). Each one reads the
    /// passages that have it, so the caller bounds their number.
    pub terms: Vec<SparseVector>,
    /// The embedding of the query, with whose model the passages are searched; without one there is no dense search.
    pub dense: Option<Embedding>,
    /// The filter that the hits of the lexical and of the dense search match.
    pub filter: Filter,
    /// Maximum number of hits of the lexical and of the dense search, each.
    pub depth: usize,
}

/// A passage that the lexical or the dense search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Id of the chunk, which is the passage in the database.
    pub id: Uuid,
    /// BM25 in the lexical search (above 0), cosine similarity in the dense one (-1 to 1).
    pub score: f32,
}

impl Hit {
    /// Sorts hits by their scores, best first; equal scores in the order of their ids.
    pub fn sort_best_first(hits: &mut [Self]) {
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    }
}

/// The hits of the lexical and of the dense search, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HybridHits {
    /// Passages that share a word with the query.
    pub lexical: Vec<Hit>,
    /// The passages nearest in meaning, at any distance.
    pub dense: Vec<Hit>,
    /// Whether the scores of the dense hits were converted to the standard scale from that of another model. An index leaves them as they are.
    pub is_converted: bool,
    /// For each of [`IndexQuery::terms`], in their order, the best BM25 of this term alone among all passages of the tenant, whatever the
    /// filter and the depth of the query; 0 when none has it. The sum bounds the score of a passage in the lexical search.
    pub term_scores: Vec<f32>,
    /// The documents of hits of which the index knows them without looking them up. A hit that is missing here is looked up with
    /// [`PassageIndex::find_documents`](super::PassageIndex::find_documents).
    pub documents: HashMap<Uuid, Uuid>,
    /// Lexical hits that have no embedding, so that the dense search says nothing of them.
    pub unembedded: HashSet<Uuid>,
}

impl HybridHits {
    /// Returns the hits of the queries that an engine answers together, each with its hits best first: the lexical one unless the query has
    /// no words, the dense one if it has one, and one for each term that has words.
    pub(super) fn from_results(
        query: &IndexQuery,
        has_dense: bool,
        mut results: impl Iterator<Item = Vec<Hit>>,
    ) -> Self {
        let mut next_hits =
            |is_asked: bool| if is_asked { results.next().unwrap_or_default() } else { Vec::new() };
        let (lexical, dense) = (next_hits(!query.sparse.is_empty()), next_hits(has_dense));
        let best = |term: &SparseVector| next_hits(!term.is_empty()).first().map_or(0.0, |hit| hit.score);
        let term_scores = query.terms.iter().map(best).collect();
        Self { lexical, dense, term_scores, ..Self::default() }
    }

    /// Returns the best hits of each search, at most `depth`: what a search of this depth finds, without the documents. The scores of the
    /// terms are the same.
    #[must_use]
    pub fn first(&self, depth: usize) -> Self {
        let first = |hits: &[Hit]| hits.iter().take(depth).copied().collect();
        Self {
            lexical: first(&self.lexical),
            dense: first(&self.dense),
            is_converted: self.is_converted,
            term_scores: self.term_scores.clone(),
            documents: HashMap::new(),
            unembedded: self.unembedded.clone(),
        }
    }
}
