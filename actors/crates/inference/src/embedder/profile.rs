//! What an embedding model needs beside its files.

use serde::Deserialize;

use super::calibration::Calibration;

/// What the catalogue says of an embedding model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingProfile {
    /// Width of its vectors.
    pub dimensions: usize,
    /// Prepended to each query, as in its training; empty if it needs none.
    #[serde(default)]
    pub query_prefix: String,
    /// Prepended to each passage, as in its training; empty if it needs none.
    #[serde(default)]
    pub passage_prefix: String,
    /// The scale of its cosine similarities; `None` if it is measured when the model is opened.
    #[serde(default)]
    pub calibration: Option<Calibration>,
}
