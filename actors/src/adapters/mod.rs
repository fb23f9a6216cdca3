//! The outside, each behind a face of its own: the web, the index, the model, the parsers of foreign bytes.

pub mod embedder;
pub mod fetch;
pub mod index;
pub mod mail;
pub mod sandbox;
