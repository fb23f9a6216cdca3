//! Turns text into vectors: the trait, and the local model that implements it.
//!
//! Calls block for milliseconds (a query) to minutes (a long list of passages): run them on a worker pool.

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
mod tokenizer;
mod weights;
mod worker_pools;

#[cfg(test)]
mod tests;

use std::error::Error;

pub use config::ConfigError;
pub use minilm::{MiniLm, OpenError, Options};
pub use precision::Precision;
pub use tokenizer::PASSAGE_TOKENS;
pub use weights::WeightsError;

/// Turns text into vectors of one width with one model.
pub trait Embedder: Send + Sync {
    /// Returns the name of the model, which is part of the name of its vector in the index, such as `all-minilm-l6-v2`.
    fn model(&self) -> &str;

    /// Returns the width of a vector.
    fn dimensions(&self) -> usize;

    /// Returns vectors of unit length, one for each text, in order. Runs on the background threads. Texts that are too long for the
    /// model are truncated.
    ///
    /// # Errors
    /// [`EmbedError`] when the model cannot be run; then there are no vectors at all.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Returns the vector of a query, of unit length. Runs on a separate thread, so it never waits for a batch.
    ///
    /// # Errors
    /// [`EmbedError`] when the model cannot be run.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError>;

    /// Returns the number of tokens of a whole text, without the two special tokens that the model adds. Used for the size of
    /// passages.
    fn count_tokens(&self, text: &str) -> usize;

    /// Counts the word pieces of a query.
    fn count_word_pieces(&self, query: &str) -> WordPieceCounts;

    /// Counts the word pieces of a query and, if `is_wanted` returns true for them, computes its vector as [`Embedder::embed_query`]
    /// does. A model splits the query into word pieces once for both.
    fn embed_query_if(
        &self,
        query: &str,
        is_wanted: &dyn Fn(WordPieceCounts) -> bool,
    ) -> (WordPieceCounts, Option<Result<Vec<f32>, EmbedError>>) {
        let pieces = self.count_word_pieces(query);
        (pieces, is_wanted(pieces).then(|| self.embed_query(query)))
    }
}

/// The number of word pieces into which a model splits a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordPieceCounts {
    /// Number of all word pieces.
    pub all: usize,
    /// Number of unknown word pieces. The model cannot distinguish them.
    pub unknown: usize,
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
