//! The passage index: every passage of every library, found by its words and by its meaning.
//!
//! The database is authoritative and holds the text. The index holds ids, labels and vectors, and can be rebuilt from the database
//! at any time. Every query and every change names a [`Tenant`], which is made from a user's id only, so users never see each
//! other's passages; only the comparison with the database works on bare ids. Every method blocks: run it on a thread for
//! blocking work. Reads run in parallel with each other and with one write; writes wait for one another. While an index is
//! reloaded after a failed write, reads do not wait: they fail with [`IndexError::Blocked`].
//! An index that nothing uses is unloaded, and the next request waits until it is loaded.

pub mod audit_reason;
#[cfg(test)]
mod contract;
mod copy;
mod crash_counter;
pub mod edge;
mod fault;
pub mod folder;
mod index_error;
mod label;
pub mod language;
pub mod marker;
mod opened_index;
mod passage;
mod passage_index;
mod query;
mod schema;
pub mod server;
mod store;
mod vector_model;

pub use audit_reason::AuditReason;
pub use copy::{CopyError, CopyReport, copy_passages};
pub use edge::EdgeIndex;
pub use fault::EngineFault;
pub use folder::IndexFolder;
pub use index_error::IndexError;
pub use language::Language;
pub use marker::Marker;
pub use opened_index::OpenedIndex;
pub use passage::{Embedding, Labels, PassageEmbedding, Point, Source, SparseVector, Tenant};
pub use passage_index::{PassageIndex, PassagePage, PointPage};
pub use query::{DocumentSet, Filter, Hit, HybridHits, IndexQuery};
pub use server::{
    CollectionSettings, ServerIndex, ServerReport, ServerSettings, ServerStore, compare_server_markers,
};
pub use store::{IndexStore, IndexStoreId, InitialIndex};
pub use vector_model::{VectorModel, VectorModels};
