//! One search of the index: by the words and by the embedding of the query, both rankings fused. It runs on a worker thread.

use std::collections::HashMap;

use inference::embedder::{Embedder, WordPieceCounts};
use search::fusion::{self, DenseWeight, RankedPassage};
use search::index::{HybridHits, IndexError, IndexQuery, PassageIndex, Tenant};
use search::lexical;
use tracing::warn;
use uuid::Uuid;
use values::id::{ChunkId, DocumentId, UserId};

use super::index_failure::catch_engine_panic;
use super::ranked_hits::{RankedHits, SearchHit};
use super::search_query::SearchQuery;

/// Passages that the lexical and the semantic search each return.
const SEARCH_DEPTH: usize = 100;
/// Maximum depth, for results in which a few long documents take all ranks.
const MAX_SEARCH_DEPTH: usize = 1600;

/// Returns the best passages of the library of a user. Without a model the search is lexical.
pub fn search(
    index: &dyn PassageIndex,
    embedder: Option<&dyn Embedder>,
    user: UserId,
    query: &SearchQuery,
) -> Result<RankedHits, IndexError> {
    let (dense, weight) = embed_query(embedder, &query.query);
    // A query whose words the model does not know is not degraded by leaving the model out.
    let lexical_only = dense.is_none() && (embedder.is_none() || weight.is_positive());
    let tenant = Tenant::of(user.0);
    let sparse = lexical::analyze_query(&query.query, &catch_engine_panic(|| index.languages(&tenant))?);
    let index_query = IndexQuery { sparse, dense, filter: query.within.clone(), depth: SEARCH_DEPTH };
    let mut search = PassageSearch { index, tenant, index_query, documents: HashMap::new() };
    let (hits, ranked) = search.run(weight, query.limit)?;
    let ranked = ranked.into_iter().map(|hit| SearchHit {
        chunk: ChunkId(hit.id),
        document: DocumentId(hit.document),
        score: hit.score,
        cosine: hits.dense.iter().find(|dense| dense.id == hit.id).map(|dense| dense.score),
    });
    Ok(RankedHits { hits: ranked.collect(), lexical_only })
}

/// A search of the index in progress.
struct PassageSearch<'a> {
    index: &'a dyn PassageIndex,
    tenant: Tenant,
    index_query: IndexQuery,
    /// The documents of passages that were looked up.
    documents: HashMap<Uuid, Uuid>,
}

impl PassageSearch<'_> {
    /// Returns the hits of both legs, and the best of them fused, at most `limit`.
    fn run(
        &mut self,
        weight: DenseWeight,
        limit: usize,
    ) -> Result<(HybridHits, Vec<RankedPassage>), IndexError> {
        let mut found = self.search_index()?;
        let mut depth = SEARCH_DEPTH;
        loop {
            let hits = found.first(depth);
            let ranked = self.rank(&hits, weight, limit)?;
            let is_deeper_worthwhile = fusion::needs_deeper_search(&hits, depth, ranked.len(), limit);
            if depth >= MAX_SEARCH_DEPTH || !is_deeper_worthwhile {
                return Ok((hits, ranked));
            }
            // A few long documents took all ranks; the results hold only some passages of each document. One search serves all greater
            // depths: the hits of a lesser depth are the first of it.
            if depth == SEARCH_DEPTH {
                found = self.search_deeper(found)?;
            }
            depth = (depth * 4).min(MAX_SEARCH_DEPTH);
        }
    }

    fn search_index(&self) -> Result<HybridHits, IndexError> {
        catch_engine_panic(|| self.index.search(&self.tenant, &self.index_query))
    }

    /// Searches to the maximum depth, for those legs that have more hits than were found.
    fn search_deeper(&mut self, found: HybridHits) -> Result<HybridHits, IndexError> {
        self.index_query.depth = MAX_SEARCH_DEPTH;
        if found.dense.len() >= SEARCH_DEPTH {
            return self.search_index();
        }
        self.index_query.dense = None;
        Ok(HybridHits { dense: found.dense, ..self.search_index()? })
    }

    fn rank(
        &mut self,
        hits: &HybridHits,
        weight: DenseWeight,
        limit: usize,
    ) -> Result<Vec<RankedPassage>, IndexError> {
        let Self { index, tenant, documents, .. } = self;
        fusion::limit_per_document(&fusion::fuse(hits, weight), limit, |passages| {
            let mut missing = passages.to_vec();
            missing.retain(|passage| !documents.contains_key(passage));
            if !missing.is_empty() {
                documents.extend(catch_engine_panic(|| index.find_documents(tenant, &missing))?);
            }
            Ok(passages.iter().filter_map(|id| Some((*id, *documents.get(id)?))).collect())
        })
    }
}

/// Computes the embedding of the query and the weight of the semantic search. If the model fails, there is no embedding.
fn embed_query(embedder: Option<&dyn Embedder>, query: &str) -> (Option<Vec<f32>>, DenseWeight) {
    let Some(embedder) = embedder else {
        return (None, DenseWeight::for_query(query, WordPieceCounts::default()));
    };
    let weigh = |pieces| DenseWeight::for_query(query, pieces);
    let (pieces, vector) = embedder.embed_query_if(query, &|pieces| weigh(pieces).is_positive());
    let vector = vector.and_then(|computed| match computed {
        Ok(vector) => Some(vector),
        Err(error) => {
            warn!(%error, "could not compute the embedding of a query; the search is lexical");
            None
        }
    });
    (vector, weigh(pieces))
}

#[cfg(test)]
mod tests {
    use search::index::{EdgeIndex, Filter, Labels, Language, Point, Source};

    use super::*;

    const USER: UserId = UserId(Uuid::from_u128(7));

    fn point(number: u128, document: u128, text: &str) -> Point {
        Point {
            id: Uuid::from_u128(number),
            document: Uuid::from_u128(document),
            version: 1,
            labels: Labels { source: Source::Bookmarks, feed: None, collections: Vec::new() },
            language: Language::English,
            sparse: lexical::analyze_passage("", text, Language::English),
            dense: None,
        }
    }

    #[test]
    fn documents_below_a_long_one_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(folder.path(), None).unwrap();
        let tenant = Tenant::of(USER.0);
        // The long document is nearer to the query in each of its passages, and takes the first 500 ranks.
        let long = (1..=500).map(|n| point(n, 1, "heron heron"));
        let others = (1_001..=1_004).map(|n| point(n, n, "a heron stands in the water of the reeds"));
        index.upsert(&tenant, long.chain(others).collect()).unwrap();
        let query = SearchQuery { query: "heron".to_owned(), within: Filter::default(), limit: 6 };

        let found = search(&index, None, USER, &query).unwrap();

        let documents: Vec<u128> = found.hits.iter().map(|hit| hit.document.0.as_u128()).collect();
        assert_eq!(documents, [1, 1, 1, 1_001, 1_002, 1_003]);
        assert!(found.lexical_only);
    }

    #[test]
    fn hits_of_another_user_are_never_ranked() {
        let folder = tempfile::tempdir().unwrap();
        let index = EdgeIndex::open(folder.path(), None).unwrap();
        index.upsert(&Tenant::of(USER.0), vec![point(1, 1, "heron")]).unwrap();
        let query = SearchQuery { query: "heron".to_owned(), within: Filter::default(), limit: 6 };
        assert_eq!(search(&index, None, USER, &query).unwrap().hits.len(), 1);

        index.upsert(&Tenant::of(Uuid::from_u128(8)), vec![point(2, 2, "heron")]).unwrap();

        let found = search(&index, None, USER, &query).unwrap();
        assert_eq!(found.hits.iter().map(|hit| hit.chunk.0.as_u128()).collect::<Vec<_>>(), [1]);
    }
}
