//! Ingest: from a URL, a file or handed-over content to passages that search finds.
//!
//! The intent is a row of the queue ([`jobs`]), written in the transaction that makes the work necessary. The worker claims
//! due jobs and calls the stages of this module. Every stage may run twice: a text is stored as a new version of its
//! document in one transaction, and passages are points of the index under separate ids.
//!
//! There are four groups of stages, and each takes a separate context: [`sequencer`] makes the text of a document ([`extraction_context`]),
//! [`index`] and [`index_removal`] change the index ([`indexing_context`]), [`feed`] follows feeds, and [`repair`] keeps the index
//! complete. [`metadata_task`] puts changes of titles, tags and highlights into it without jobs, and [`metadata_vectors`] their vectors. Requests use the parts in [`context`].
//! [`batch`] does the work of the first two for many short documents together.

pub mod batch;
mod completion;
pub mod context;
mod document_row;
pub mod extraction_context;
pub mod feed;
mod fetch_rules;
mod file;
mod file_type;
pub mod index;
pub mod index_removal;
mod index_state;
mod index_turn;
pub mod indexing_context;
pub mod media;
pub mod metadata_task;
pub mod metadata_vectors;
pub mod model;
mod next_vectors;
mod page;
mod passage_embedding;
mod pdf;
mod point_source;
mod postponed_vectors;
pub mod reindex;
pub mod repair;
pub mod sequencer;
mod unembedded_metadata;
