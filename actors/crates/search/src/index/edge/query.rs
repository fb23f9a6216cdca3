//! The lexical and the dense search and the probes of the terms of a query in the types of the engine, and their hits.

use qdrant_edge::{
    Filter as EngineFilter, IdfCorpusParams, IdfParams, NamedQuery, QuantizationSearchParams, QueryEnum,
    QueryRequest, ScoredPoint, ScoringQuery, SearchParams, VectorInternal,
};

use super::{filter, point, schema};
use crate::index::passage::{Embedding, SparseVector, Tenant};
use crate::index::query::{Filter, Hit, IndexQuery};
use crate::index::vector_model::vector_name;

/// Candidates for each hit of the dense search, chosen by the quantized vectors and then compared by the vectors themselves.
/// Measured on 4,000 random vectors of 384 dimensions: cosines of quantized vectors are wrong by 0.006 at most, and the hundredth and the
/// four hundredth are 0.033 apart, so no hit is missed. Without more candidates than hits 6 of 100 are.
const CANDIDATES_PER_HIT: f64 = 4.0;

/// The passages among which a search runs. All scopes find the same.
#[derive(Clone, Copy, Debug)]
pub enum SearchScope {
    /// Those of the tenant, whatever else the shard contains. The engine gathers them to count the words of the query in them.
    Tenant(Tenant),
    /// Those of the tenant, whatever else the shard contains. The words of the query have weights of
    /// [`CorpusCounts::weigh`](super::word_counts::CorpusCounts::weigh), so that nothing is gathered.
    CountedTenant(Tenant),
    /// All, which are the tenant's: no passage is of another tenant. So the engine need not gather those of the tenant, which takes
    /// longer than both searches.
    SoleTenant(Tenant),
}

impl SearchScope {
    /// Returns the filter of a query; `None` if all passages match.
    fn matching(self, filter: &Filter) -> Option<EngineFilter> {
        match self {
            SearchScope::SoleTenant(_) if filter.matches_all() => None,
            SearchScope::Tenant(tenant)
            | SearchScope::CountedTenant(tenant)
            | SearchScope::SoleTenant(tenant) => Some(filter::matching(&tenant, filter)),
        }
    }

    /// Returns the filter of the passages whose words are counted.
    fn corpus(self) -> EngineFilter {
        match self {
            SearchScope::Tenant(tenant) => filter::owned_by(&tenant),
            // The engine multiplies the weights by a frequency in any case.
            SearchScope::CountedTenant(_) => filter::of_nobody(),
            // Not the frequencies without a corpus, which include those of deleted passages.
            SearchScope::SoleTenant(_) => EngineFilter::new(),
        }
    }
}

/// BM25 among the tenant's passages that pass the filter, with document frequencies of all of the tenant's passages.
pub fn lexical(scope: SearchScope, query: &IndexQuery) -> QueryRequest {
    nearest(scope.matching(&query.filter), query.depth, words(&query.sparse), word_params(scope))
}

/// The best BM25 of a term among all of the tenant's passages, with the document frequencies of [`lexical`]. The engine counts these
/// once for all requests of a batch, because their corpus is the same.
pub fn term(scope: SearchScope, term: &SparseVector) -> QueryRequest {
    nearest(scope.matching(&Filter::default()), 1, words(term), word_params(scope))
}

fn words(sparse: &SparseVector) -> NamedQuery<VectorInternal> {
    NamedQuery::new(VectorInternal::Sparse(point::sparse_to_engine(sparse.clone())), schema::WORDS_VECTOR)
}

fn word_params(scope: SearchScope) -> SearchParams {
    // Measured: frequencies among the passages of all users cost up to 0.8 points of nDCG@10. To gather those of one user takes about 3 ms
    // of CPU time with 100,000 passages.
    let corpus = IdfParams::Corpus(IdfCorpusParams { corpus: scope.corpus() });
    SearchParams { idf: Some(corpus), ..SearchParams::default() }
}

/// Cosine similarity among the tenant's passages that pass the filter: a scan. Segments on the disk are scanned in the quantized form of
/// their vectors, and the best candidates are compared exactly; a segment in memory is scanned exactly.
pub fn dense(scope: SearchScope, query: &IndexQuery, embedding: &Embedding) -> QueryRequest {
    let quantization = QuantizationSearchParams {
        ignore: false,
        rescore: Some(true),
        oversampling: Some(CANDIDATES_PER_HIT),
    };
    // Not `exact`, which would scan the vectors themselves: measured, 22 ms of CPU time among 100,000 passages of one user.
    let params = SearchParams { quantization: Some(quantization), ..SearchParams::default() };
    let name = vector_name(&embedding.model);
    let vector = NamedQuery::new(VectorInternal::Dense(embedding.vector.clone()), name);
    nearest(scope.matching(&query.filter), query.depth, vector, params)
}

fn nearest(
    filter: Option<EngineFilter>,
    limit: usize,
    vector: NamedQuery<VectorInternal>,
    params: SearchParams,
) -> QueryRequest {
    QueryRequest {
        query: Some(ScoringQuery::Vector(QueryEnum::Nearest(vector))),
        filter,
        params: Some(params),
        // No payload: most hits are not shown, and reading it takes longer than finding them.
        ..QueryRequest::new(limit)
    }
}

/// Returns the hits of a query, best first; equal scores in the order of their ids.
pub fn sorted_hits(scored: &[ScoredPoint]) -> Vec<Hit> {
    let mut hits: Vec<Hit> = scored.iter().filter_map(point::to_hit).collect();
    Hit::sort_best_first(&mut hits);
    hits
}
