//! The two legs of a search in the engine's words, and what they bring.

use qdrant_edge::{
    IdfCorpusParams, IdfParams, NamedQuery, QueryEnum, QueryRequest, ScoredPoint, ScoringQuery, SearchParams,
    VectorInternal, WithPayloadInterface,
};

use super::{filter, point, schema};
use crate::index::{Hit, Plan, Sparse, Tenant};

/// BM25 among the tenant's passages that are asked for, with the word frequencies of all of the tenant's.
pub fn by_words(tenant: &Tenant, plan: &Plan) -> QueryRequest {
    let words = VectorInternal::Sparse(point::words(Sparse::clone(&plan.sparse)));
    let corpus = IdfParams::Corpus(IdfCorpusParams { corpus: filter::own(tenant) });
    let params = SearchParams { idf: Some(corpus), ..SearchParams::default() };
    nearest(tenant, plan, NamedQuery::new(words, schema::WORDS), params)
}

/// The nearest in meaning among the tenant's passages that are asked for: all of them are compared.
pub fn by_meaning(tenant: &Tenant, plan: &Plan, vector: String, dense: &[f32]) -> QueryRequest {
    let params = SearchParams { exact: true, ..SearchParams::default() };
    nearest(tenant, plan, NamedQuery::new(VectorInternal::Dense(dense.to_vec()), vector), params)
}

fn nearest(
    tenant: &Tenant,
    plan: &Plan,
    query: NamedQuery<VectorInternal>,
    params: SearchParams,
) -> QueryRequest {
    QueryRequest {
        query: Some(ScoringQuery::Vector(QueryEnum::Nearest(query))),
        filter: Some(filter::asked(tenant, &plan.filter)),
        params: Some(params),
        with_payload: WithPayloadInterface::Fields(vec![schema::path(schema::DOCUMENT)]),
        ..QueryRequest::new(plan.depth)
    }
}

/// A leg's hits, best first; equally good ones in the order of their ids.
pub fn hits(scored: Option<Vec<ScoredPoint>>) -> Vec<Hit> {
    let mut hits: Vec<Hit> = scored.into_iter().flatten().filter_map(point::hit).collect();
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    hits
}
