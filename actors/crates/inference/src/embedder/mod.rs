//! Turns text into vectors: the trait, and the local model that stands behind it by default.
//!
//! Calls block for milliseconds (a query) to minutes (a long list of passages): run them through a worker pool.

mod attention;
mod config;
mod dequantize;
mod encoder;
mod exact;
mod gemm;
mod groups;
mod int8;
mod layer;
mod linear;
mod minilm;
mod norm;
mod precision;
mod quantize;
mod table;
mod tokens;
mod weights;
mod worker_pools;

#[cfg(test)]
mod tests;

use std::error::Error;

pub use config::ConfigError;
pub use minilm::{MiniLm, OpenError, Options};
pub use precision::Precision;
pub use weights::WeightsError;

/// Tokens of a passage that the local model reads, as [`Embedder::count_tokens`] counts: what is longer loses its end.
pub const PASSAGE_TOKENS: usize = tokens::MAX_TOKENS - 2;

/// Something that turns text into vectors, one model, always the same width.
pub trait Embedder: Send + Sync {
    /// Name of the model, part of the vector's name in the index, such as `all-minilm-l6-v2`.
    fn model(&self) -> &str;

    /// Width of a vector.
    fn dimensions(&self) -> usize;

    /// Vectors of unit length, one for each text, in order. The background lane.
    ///
    /// A text longer than the model can read is read from its beginning.
    ///
    /// # Errors
    /// When the model cannot be run; no vectors then.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// The vector of one query, of unit length. Its own lane: it never waits for a batch.
    ///
    /// # Errors
    /// When the model cannot be run.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError>;

    /// Tokens of a text, whole, without the two that frame each text the model reads: for sizing passages.
    fn count_tokens(&self, text: &str) -> usize;

    /// The word pieces of a query.
    fn pieces(&self, query: &str) -> Pieces;
}

/// The word pieces that a model reads a text in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pieces {
    /// All of them.
    pub all: usize,
    /// Those that stand for what the model cannot write: they are all the same to it.
    pub unknown: usize,
}

/// Why there is no vector. Holds nothing of the text.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The tokenizer refused.
    #[error("could not split the text into tokens")]
    Tokens(#[source] Box<dyn Error + Send + Sync>),

    /// A matrix did not fit the next: model and program do not belong together.
    #[error("could not run the embedding model")]
    Model(#[source] Box<dyn Error + Send + Sync>),

    /// The tokenizer knows a token that the model has no row for.
    #[error("token {0} is not in the embedding table")]
    UnknownToken(u32),
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
