//! Embeds through an OpenAI-compatible HTTP endpoint whose vectors are known: their length, and the scale of their similarities.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    EmbedError, Embedder, Embeddings,
    calibration::Calibration,
    endpoint_client::{BATCH_DEADLINE, EmbeddingEndpoint},
    endpoint_fault::EndpointFault,
    measurement,
    query_weight::QueryWeight,
};

/// Deadline of a query, from the call to the last byte, also of the request that shows whether a refusal is about the query. Later the
/// search continues without it.
const QUERY_DEADLINE: Duration = Duration::from_secs(1);
/// Deadline of a request with a query and passages.
const COMPARISON_DEADLINE: Duration = Duration::from_secs(3);

/// What was measured of the vectors of an endpoint. It is stored, because the measurement takes several requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredModel {
    /// Name of the vectors in the index ([`EmbeddingEndpoint::vector_name`]).
    pub name: String,
    /// Length of the vectors.
    pub dimensions: usize,
    /// Scale of their cosine similarities.
    pub calibration: Calibration,
}

impl MeasuredModel {
    /// Measures the vectors of an endpoint, with a few requests. Blocks for seconds.
    ///
    /// # Errors
    /// [`EmbedError::Unavailable`] when the endpoint does not answer each of them; [`EmbedError::TextRefused`] when it refuses one of them.
    pub fn measure(endpoint: &EmbeddingEndpoint) -> Result<Self, EmbedError> {
        let dimensions = endpoint.ask_dimensions()?;
        let calibration = measurement::measure(
            |queries| endpoint.embed_queries(queries, Some(dimensions), BATCH_DEADLINE),
            |passages| Ok(endpoint.embed_passages(passages, Some(dimensions))?.vectors),
        )?;
        Ok(Self { name: endpoint.vector_name(dimensions), dimensions, calibration })
    }
}

/// Embeds through an OpenAI-compatible HTTP endpoint.
#[derive(Debug)]
pub struct EndpointEmbedder {
    endpoint: Arc<EmbeddingEndpoint>,
    measured: MeasuredModel,
}

impl EndpointEmbedder {
    /// Creates an embedder from an endpoint and what was measured of its vectors. Vectors of another length are refused.
    #[must_use]
    pub fn new(endpoint: Arc<EmbeddingEndpoint>, measured: MeasuredModel) -> Self {
        Self { endpoint, measured }
    }
}

impl Embedder for EndpointEmbedder {
    fn model(&self) -> &str {
        &self.measured.name
    }

    fn dimensions(&self) -> usize {
        self.measured.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Result<Embeddings, EmbedError> {
        self.endpoint.embed_passages(texts, Some(self.measured.dimensions))
    }

    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let expected = Some(self.measured.dimensions);
        let vectors = self.endpoint.embed_queries(&[query], expected, QUERY_DEADLINE)?;
        Ok(vectors.into_iter().next().unwrap_or_default())
    }

    fn embed_query_with_passages(
        &self,
        query: &str,
        passages: &[&str],
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>), EmbedError> {
        let expected = Some(self.measured.dimensions);
        self.endpoint.embed_query_with_passages(query, passages, expected, COMPARISON_DEADLINE)
    }

    /// A service does not show how it splits a query, so the similarities alone decide.
    fn query_weight(&self, _query: &str) -> QueryWeight {
        QueryWeight::FULL
    }

    fn knows_each_word(&self, _query: &str) -> Option<bool> {
        None
    }

    fn calibration(&self) -> Calibration {
        self.measured.calibration
    }

    fn is_budgeted(&self) -> bool {
        true
    }

    fn query_deadline(&self) -> Option<Duration> {
        Some(QUERY_DEADLINE)
    }

    fn fault(&self) -> Option<EndpointFault> {
        self.endpoint.fault()
    }
}
