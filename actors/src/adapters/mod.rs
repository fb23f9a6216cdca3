//! The outside, each behind a face of its own: the web, the store of files, the index, the speech model, the
//! parsers of foreign bytes.

pub mod answerer;
pub mod blobs;
pub mod fetch;
pub mod index;
pub mod mail;
pub mod probe;
pub mod sandbox;
pub mod transcriber;
