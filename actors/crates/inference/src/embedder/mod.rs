//! Turns text into vectors: the trait, the local models, and an HTTP service that may take their place.
//!
//! Calls block for milliseconds (a query) to minutes (a long list of passages): run them on a worker pool.

mod attention;
mod bert;
mod calibration;
mod config;
mod dequantize;
mod encoder;
mod endpoint;
mod endpoint_client;
mod endpoint_fault;
mod endpoint_response;
mod endpoint_settings;
mod exact;
mod gemm;
mod groups;
mod int8;
mod layer;
mod linear;
mod measurement;
mod norm;
mod precision;
mod profile;
mod quantize;
mod query_weight;
mod table;
mod tokenizer;
mod weights;
mod worker_pools;

#[cfg(test)]
mod small_model;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::time::Duration;

pub use bert::{BertEmbedder, OpenError, Options};
pub use calibration::Calibration;
pub use config::ConfigError;
pub use endpoint::{EndpointEmbedder, MeasuredModel};
pub use endpoint_client::{EmbeddingEndpoint, EmbeddingSetupError};
pub use endpoint_fault::EndpointFault;
pub use endpoint_settings::EmbeddingSettings;
pub use precision::Precision;
pub use profile::EmbeddingProfile;
pub use query_weight::QueryWeight;
pub use weights::WeightsError;

/// Vectors of passages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embeddings {
    /// One vector of unit length for each text, in order.
    pub vectors: Vec<Vec<f32>>,
    /// Number of tokens that the model read, without those that it adds to each text. A service that reports none counts by an estimate.
    pub tokens: usize,
}

/// Turns text into vectors of one width with one model.
pub trait Embedder: Send + Sync {
    /// Returns the name of the model, which is part of the name of its vector in the index, such as `all-minilm-l6-v2`.
    fn model(&self) -> &str;

    /// Returns the width of a vector.
    fn dimensions(&self) -> usize;

    /// Returns the vectors of passages. A local model runs on the background threads. Texts that are too long for the model are
    /// truncated.
    ///
    /// # Errors
    /// [`EmbedError::TextRefused`] when the service refuses one of the texts or more; [`EmbedError`] when the model cannot be run, or the
    /// service does not answer. Then there are no vectors at all.
    fn embed(&self, texts: &[&str]) -> Result<Embeddings, EmbedError>;

    /// Returns the vector of a query, of unit length. Never waits for a batch of passages: a local model runs on a separate thread.
    ///
    /// # Errors
    /// [`EmbedError::TextRefused`] when the service refuses the query; [`EmbedError`] when the model cannot be run, or the service does
    /// not answer within a second.
    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError>;

    /// Returns the vectors of several queries, in order, as [`Embedder::embed_query`] does.
    ///
    /// # Errors
    /// As [`Embedder::embed_query`]; then there are no vectors at all.
    fn embed_queries(&self, queries: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        queries.iter().map(|query| self.embed_query(query)).collect()
    }

    /// Returns the vector of a query, and those of short passages, in order, that are compared with it while a user waits. Like
    /// [`Embedder::embed_query`] it never waits for a batch. A service gets a query with up to 31 passages in one request. As it is here, it
    /// is right for models that embed queries and passages alike.
    ///
    /// # Errors
    /// As [`Embedder::embed_query`]; then there are no vectors at all.
    fn embed_query_with_passages(
        &self,
        query: &str,
        passages: &[&str],
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>), EmbedError> {
        Ok((self.embed_query(query)?, self.embed_queries(passages)?))
    }

    /// Returns how much the meaning of a query counts: as much as the model knows its words.
    fn query_weight(&self, query: &str) -> QueryWeight;

    /// Returns the weight of a query and, if it is positive, the vector of the query as [`Embedder::embed_query`] computes it. A model
    /// splits the query into word pieces once for both.
    fn embed_weighted_query(&self, query: &str) -> (QueryWeight, Option<Result<Vec<f32>, EmbedError>>) {
        let weight = self.query_weight(query);
        (weight, weight.is_positive().then(|| self.embed_query(query)))
    }

    /// Returns whether the model has a piece for each whole word of a query, so that they are real words; `None` for a service, which
    /// does not show how it splits a query.
    fn knows_each_word(&self, query: &str) -> Option<bool>;

    /// Returns the scale of the cosine similarities of the model.
    fn calibration(&self) -> Calibration;

    /// Returns whether it embeds no passages while the AI is paused (`ai.daily_tokens`): a service that costs money does not, a local
    /// model does.
    fn is_budgeted(&self) -> bool {
        false
    }

    /// Returns the longest time that the vector of a query waits for a service; `None` for a local model, which computes instead of waiting.
    fn query_deadline(&self) -> Option<Duration> {
        None
    }

    /// Returns why it cannot be used at present; `None` if the last use succeeded. A local model can always be used.
    fn fault(&self) -> Option<EndpointFault> {
        None
    }
}

/// Why a text was not embedded. Contains nothing of the text.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The tokenizer could not split the text into tokens.
    #[error("could not split the text into tokens")]
    Tokenizer(#[source] Box<dyn Error + Send + Sync>),

    /// The shapes of two matrices do not match: the model is not one that this program can run.
    #[error("could not run the embedding model")]
    Model(#[source] Box<dyn Error + Send + Sync>),

    /// The tokenizer returned a token for which the model has no row.
    #[error("token {0} is not in the embedding table")]
    UnknownToken(u32),

    /// The service cannot be used at present. It has logged why.
    #[error("the embedding service cannot be used: {fault}")]
    Unavailable {
        /// Why it cannot be used.
        fault: EndpointFault,
        /// Time after which another attempt may succeed.
        retry_after: Duration,
    },

    /// The service refuses a text of the request, and accepts others.
    #[error("the embedding service refuses a text: {fault}")]
    TextRefused {
        /// How it refuses the text.
        fault: EndpointFault,
    },
}

impl From<rten_gemm::GemmError> for EmbedError {
    fn from(cause: rten_gemm::GemmError) -> Self {
        Self::Model(Box::new(cause))
    }
}

impl From<rten_tensor::errors::FromDataError> for EmbedError {
    fn from(cause: rten_tensor::errors::FromDataError) -> Self {
        Self::Model(Box::new(cause))
    }
}
