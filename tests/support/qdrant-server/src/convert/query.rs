//! Queries for the engine.

use qdrant_client::qdrant::{QueryPoints, SearchParams, query, vector_input};
use qdrant_edge::{
    IdfCorpusParams, IdfParams, NamedQuery, QuantizationSearchParams, QueryEnum, QueryRequest, ScoringQuery,
    SearchParams as EngineSearchParams, VectorInternal,
};
use tonic::Status;

use super::filter::filter_to_engine;
use super::invalid;
use super::point::{sparse_to_engine, vector_selector};
use super::value::payload_selector;

/// Number of hits where the request does not say.
const DEFAULT_LIMIT: u64 = 10;

/// Converts a query for the points that are nearest to a vector.
pub fn query_to_engine(request: QueryPoints) -> Result<QueryRequest, Status> {
    if !request.prefetch.is_empty() || request.offset.is_some() || request.score_threshold.is_some() {
        return Err(invalid("a query in several stages"));
    }
    let Some(query::Variant::Nearest(input)) = request.query.and_then(|query| query.variant) else {
        return Err(invalid("a query of another kind"));
    };
    let vector = if let Some(vector_input::Variant::Dense(dense)) = input.variant {
        VectorInternal::Dense(dense.data)
    } else if let Some(vector_input::Variant::Sparse(sparse)) = input.variant {
        VectorInternal::Sparse(sparse_to_engine(sparse))
    } else {
        return Err(invalid("a query vector of another kind"));
    };
    let name = request.using.ok_or_else(|| invalid("a query without the name of a vector"))?;
    let limit = request.limit.unwrap_or(DEFAULT_LIMIT);
    Ok(QueryRequest {
        query: Some(ScoringQuery::Vector(QueryEnum::Nearest(NamedQuery::new(vector, name)))),
        filter: request.filter.map(filter_to_engine).transpose()?,
        params: request.params.map(search_params).transpose()?,
        with_payload: payload_selector(request.with_payload, false)?,
        with_vector: vector_selector(request.with_vectors),
        ..QueryRequest::new(usize::try_from(limit).map_err(|_| invalid("the limit is too high"))?)
    })
}

fn search_params(params: SearchParams) -> Result<EngineSearchParams, Status> {
    let quantization = params.quantization.map(|quantization| QuantizationSearchParams {
        ignore: quantization.ignore.unwrap_or(false),
        rescore: quantization.rescore,
        oversampling: quantization.oversampling,
    });
    let corpus = params.idf.and_then(|idf| idf.corpus).map(filter_to_engine).transpose()?;
    let idf = corpus.map(|corpus| IdfParams::Corpus(IdfCorpusParams { corpus }));
    let exact = params.exact.unwrap_or(false);
    Ok(EngineSearchParams { exact, quantization, idf, ..EngineSearchParams::default() })
}
