//! The lexical and the dense search and the probes of the terms of a query in the messages of the server, and their hits.

use std::collections::HashMap;
use std::time::Duration;

use qdrant_client::qdrant::{
    BatchResult, DenseVector, Filter, IdfParams, PayloadIncludeSelector, QuantizationSearchParams, Query,
    QueryPoints, SearchParams, VectorInput, WithPayloadSelector, query, vector_input, with_payload_selector,
};
use uuid::Uuid;

use super::{filter, point};
use crate::index::passage::{Embedding, SparseVector, Tenant};
use crate::index::query::{Hit, IndexQuery};
use crate::index::schema;
use crate::index::vector_model::vector_name;

/// Candidates for each hit of the dense search, as in the embedded engine, which says why.
const CANDIDATES_PER_HIT: f64 = 4.0;

/// What all requests of a search share.
#[derive(Clone, Copy)]
pub struct SearchRequest<'a> {
    /// Name of the collection.
    pub collection: &'a str,
    /// The tenant whose passages are searched.
    pub tenant: &'a Tenant,
    /// The query.
    pub query: &'a IndexQuery,
}

impl SearchRequest<'_> {
    /// BM25 among the tenant's passages that pass the filter, with document frequencies of all of the tenant's passages.
    pub fn lexical(self) -> QueryPoints {
        let filter = filter::matching(self.tenant, &self.query.filter);
        self.nearest_words(filter, self.query.depth, &self.query.sparse)
    }

    /// Cosine similarity among the tenant's passages that pass the filter.
    pub fn dense(self, embedding: &Embedding) -> QueryPoints {
        let vector = vector_input::Variant::Dense(DenseVector { data: embedding.vector.clone() });
        let quantization = QuantizationSearchParams {
            ignore: Some(false),
            rescore: Some(true),
            oversampling: Some(CANDIDATES_PER_HIT),
        };
        let params = SearchParams { quantization: Some(quantization), ..SearchParams::default() };
        let (filter, name) =
            (filter::matching(self.tenant, &self.query.filter), vector_name(&embedding.model));
        QueryPoints { params: Some(params), ..self.nearest(filter, self.query.depth, vector, name) }
    }

    /// The best BM25 of a term among all of the tenant's passages, with the document frequencies of [`Self::lexical`].
    pub fn term(self, term: &SparseVector) -> QueryPoints {
        // Its document is not looked at.
        QueryPoints { with_payload: None, ..self.nearest_words(filter::owned_by(self.tenant), 1, term) }
    }

    fn nearest_words(self, filter: Filter, limit: usize, words: &SparseVector) -> QueryPoints {
        let words = vector_input::Variant::Sparse(point::sparse_to_server(words.clone()));
        let corpus = IdfParams { corpus: Some(filter::owned_by(self.tenant)) };
        let params = SearchParams { idf: Some(corpus), ..SearchParams::default() };
        let name = schema::WORDS_VECTOR.to_owned();
        QueryPoints { params: Some(params), ..self.nearest(filter, limit, words, name) }
    }

    fn nearest(
        self,
        filter: Filter,
        limit: usize,
        vector: vector_input::Variant,
        vector_name: String,
    ) -> QueryPoints {
        let nearest = query::Variant::Nearest(VectorInput { variant: Some(vector) });
        // The document of each hit comes with it: another request would take longer than reading it from the payload.
        let document = PayloadIncludeSelector { fields: vec![schema::DOCUMENT.to_owned()] };
        let document = with_payload_selector::SelectorOptions::Include(document);
        QueryPoints {
            collection_name: self.collection.to_owned(),
            query: Some(Query { variant: Some(nearest) }),
            using: Some(vector_name),
            filter: Some(filter),
            limit: u64::try_from(limit).ok(),
            with_payload: Some(WithPayloadSelector { selector_options: Some(document) }),
            ..QueryPoints::default()
        }
    }
}

/// Returns the hits of a query, best first; equal scores in the order of their ids. Adds their documents.
pub fn sorted_hits(found: &BatchResult, documents: &mut HashMap<Uuid, Uuid>) -> Vec<Hit> {
    documents.extend(found.result.iter().filter_map(point::document_of_hit));
    let mut hits: Vec<Hit> = found.result.iter().filter_map(point::to_hit).collect();
    Hit::sort_best_first(&mut hits);
    hits
}

/// Returns the time after which the server gives up a request, in whole seconds: at least the deadline.
pub fn server_timeout(deadline: Duration) -> Option<u64> {
    Some(deadline.as_secs() + u64::from(deadline.subsec_nanos() > 0))
}
