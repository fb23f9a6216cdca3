//! One search of the index: by the words and by the embedding of the query, both rankings fused. It runs on a worker thread.

use inference::embedder::{Embedder, WordPieceCounts};
use search::fusion::{self, DenseWeight};
use search::index::{IndexError, IndexQuery, PassageIndex, Tenant};
use search::lexical;
use tracing::warn;
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
    let tenant = Tenant::of(user.0);
    let (dense, weight) = embed_query(embedder, &query.query);
    // A query whose words the model does not know is not degraded by leaving the model out.
    let lexical_only = dense.is_none() && (embedder.is_none() || weight.is_positive());
    let sparse = lexical::analyze_query(&query.query, &catch_engine_panic(|| index.languages(&tenant))?);
    let mut index_query = IndexQuery { sparse, dense, filter: query.within.clone(), depth: SEARCH_DEPTH };
    loop {
        let hits = catch_engine_panic(|| index.search(&tenant, &index_query))?;
        let fused = fusion::fuse(&hits, weight, query.limit);
        // A few long documents may take all ranks of a search; the results hold only some passages of each document.
        if index_query.depth < MAX_SEARCH_DEPTH
            && fusion::needs_deeper_search(&hits, index_query.depth, fused.len(), query.limit)
        {
            index_query.depth = (index_query.depth * 4).min(MAX_SEARCH_DEPTH);
            continue;
        }
        let ranked = fused.into_iter().map(|hit| SearchHit {
            chunk: ChunkId(hit.id),
            document: DocumentId(hit.document),
            score: hit.score,
            cosine: hits.dense.iter().find(|dense| dense.id == hit.id).map(|dense| dense.score),
        });
        return Ok(RankedHits { hits: ranked.collect(), lexical_only });
    }
}

/// Computes the embedding of the query and the weight of the semantic search. If the model fails, there is no embedding.
fn embed_query(embedder: Option<&dyn Embedder>, query: &str) -> (Option<Vec<f32>>, DenseWeight) {
    let Some(embedder) = embedder else {
        return (None, DenseWeight::for_query(query, WordPieceCounts::default()));
    };
    let weight = DenseWeight::for_query(query, embedder.count_word_pieces(query));
    if !weight.is_positive() {
        return (None, weight);
    }
    match embedder.embed_query(query) {
        Ok(vector) => (Some(vector), weight),
        Err(error) => {
            warn!(%error, "could not compute the embedding of a query; the search is lexical");
            (None, weight)
        }
    }
}
