//! # Models
//!
//! [`models`] finds, verifies, downloads and imports model files; [`embedder`] turns text into vectors with a local model;
//! [`transcriber`] turns speech into text, with a local model or a configured service.
//!
//! A model is a folder of files. The catalogue (`models/models.toml`, compiled in) names the models, with the length and the
//! SHA-256 of each file. [`models::pull()`] downloads a model from its URL or from a package of the Python index,
//! [`models::import()`] copies it from a folder or an archive, and [`models::Store`] finds and verifies it. A folder appears
//! under its name only when all of its files are complete and have the right digests.
//!
//! [`embedder::Embedder`] is the trait that search and answers use. [`embedder::BertEmbedder`] runs a BERT encoder with mean
//! pooling (all-MiniLM-L6-v2, multilingual-e5-small), by default in 8-bit integers. Queries and batches run on
//! separate threads, so a query never waits for a batch; batches run at a lower priority.
//! [`embedder::EndpointEmbedder`] calls an OpenAI-compatible service. Models spread cosine similarities over different ranges:
//! [`embedder::Calibration`] converts them to one scale.
//!
//! [`transcriber::Transcriber`] is the trait that transcribes recordings. [`transcriber::Whisper`] runs a model with
//! whisper.cpp on a thread of lower priority, [`transcriber::Endpoint`] calls an OpenAI-compatible service, and
//! [`transcriber::SpeechService`] gives either to one recording at a time.
//!
//! This crate depends on no database, actors or settings: paths and numbers of threads are arguments. Only [`models::pull()`],
//! [`embedder::EmbeddingEndpoint`] and [`transcriber::Endpoint`] use the network, and only when they are called. `pip` downloads packages, and
//! nothing in them is installed or run. No error or log line contains any text that was embedded or transcribed.

pub mod embedder;
pub mod models;
pub mod transcriber;

/// Added to the nice value of threads that embed passages or transcribe. Next to a busy thread of normal priority such a thread gets a
/// tenth of the core; with batches on every core that halves the latency of the slowest queries.
const BACKGROUND_NICE: i32 = 10;
