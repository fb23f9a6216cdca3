//! Embeddings of passages, as the index stores them.

use inference::embedder::{EmbedError, Embedder, PASSAGE_TOKENS};

/// Embeddings, and the model that computed them.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The name of the model, which names its vectors in the index.
    pub model: String,
    /// One vector for each text, in order.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens that the model read.
    pub tokens: usize,
}

impl Vectors {
    /// Computes the embeddings of passages.
    ///
    /// # Errors
    /// [`EmbedError`] when the model fails.
    pub fn compute(embedder: &dyn Embedder, texts: &[String]) -> Result<Self, EmbedError> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embedder.embed(&texts)?;
        let tokens = texts.iter().map(|text| embedder.count_tokens(text).min(PASSAGE_TOKENS)).sum();
        Ok(Self { model: embedder.model().to_owned(), vectors, tokens })
    }
}
