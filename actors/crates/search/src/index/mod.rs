//! The passage index: every passage of every library, found by its words and by its meaning.
//!
//! The database is authoritative and holds the text. The index holds ids, labels and vectors, and can be rebuilt from the database
//! at any time. Every query and every change names a [`Tenant`], which is made from a user's id only, so users never see each
//! other's passages; only the comparison with the database works on bare ids. Every method blocks: run it on a thread for
//! blocking work. Reads run in parallel with each other and with one write; writes wait for one another. While an index is
//! reloaded after a failed write, reads do not wait: they fail with [`IndexError::Blocked`].

pub mod audit_reason;
#[cfg(test)]
mod contract;
mod crash_counter;
pub mod edge;
mod fault;
pub mod folder;
pub mod language;
pub mod marker;

use std::path::PathBuf;

use uuid::Uuid;

pub use audit_reason::AuditReason;
pub use edge::EdgeIndex;
pub use fault::EngineFault;
pub use folder::{IndexFolder, InitialIndex, OpenedIndex};
pub use language::Language;
pub use marker::Marker;

/// The user whose passages a query or a change is confined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tenant(Uuid);

impl Tenant {
    /// Returns the passages of this user only.
    #[must_use]
    pub fn of(user: Uuid) -> Self {
        Self(user)
    }
}

/// The half of a library that a passage belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Bookmarks, uploads and notes: what the user has saved.
    Bookmarks,
    /// Feed entries that are not bookmarked.
    Feeds,
}

/// Weights of words, by the ids of the words. Those of a passage are BM25 term weights, those of a query are factors from 0 to 1.
/// The index multiplies them by the inverse document frequency among the passages of the tenant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SparseVector {
    /// Ids of the words in ascending order, each once.
    pub indices: Vec<u32>,
    /// The weight of each word.
    pub values: Vec<f32>,
}

impl SparseVector {
    /// Returns whether it holds no word, so that nothing matches it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }
}

/// Attributes by which passages are filtered. They change independently of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// The half of the library.
    pub source: Source,
    /// The feed of the document.
    pub feed: Option<Uuid>,
    /// The collections of the document.
    pub collections: Vec<Uuid>,
}

/// A passage of one version of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Id of the chunk, which is the passage in the database.
    pub id: Uuid,
    /// Id of the document that the passage is part of.
    pub document: Uuid,
    /// Version of the document's text.
    pub version: i64,
    /// Attributes of its document, for filters.
    pub labels: Labels,
    /// The language in which `sparse` was analysed.
    pub language: Language,
    /// Its words with their BM25 term weights.
    pub sparse: SparseVector,
    /// Its embedding, as long as the vectors of the index's model. `None` while there is no model; then the passage is upserted again
    /// once there is one.
    pub dense: Option<Vec<f32>>,
}

/// Restricts a query. All conditions that are given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// In this half of the library.
    pub source: Option<Source>,
    /// Passages of documents in this collection.
    pub collection: Option<Uuid>,
    /// Passages of entries of this feed.
    pub feed: Option<Uuid>,
    /// Of one of these documents. An empty list matches nothing.
    pub documents: Option<Vec<Uuid>>,
}

/// A query of the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexQuery {
    /// The words of the query, analysed in each language of the library. Without words the lexical leg finds nothing.
    pub sparse: SparseVector,
    /// The embedding of the query; `None` leaves the dense leg out.
    pub dense: Option<Vec<f32>>,
    /// The filter that the hits of both legs match.
    pub filter: Filter,
    /// Maximum number of hits of each leg.
    pub depth: usize,
}

/// A passage that a leg found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// Id of the chunk, which is the passage in the database.
    pub id: Uuid,
    /// Id of the document that the passage is part of.
    pub document: Uuid,
    /// BM25 in the lexical leg (above 0), cosine similarity in the dense one (-1 to 1).
    pub score: f32,
}

/// The hits of each leg, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HybridHits {
    /// Passages that share a word with the query.
    pub lexical: Vec<Hit>,
    /// The passages nearest in meaning, at any distance.
    pub dense: Vec<Hit>,
}

/// Why an operation of the index failed. Never holds text of a library: the index has none.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another process has the folder open, or its files cannot be read.
    #[error("the passage index could not be opened")]
    Open(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another process has the folder open.
    #[error("the passage index in {} is open in another process; stop that process", .folder.display())]
    InUse {
        /// Folder of the index in the data folder.
        folder: PathBuf,
    },
    /// The index cannot be opened for a reason that lies outside of its files, so they were left as they are.
    #[error(
        "the passage index in {} cannot be opened: make the user of the service its owner, or allow more open files",
        .folder.display()
    )]
    Environment {
        /// Folder of the index in the data folder.
        folder: PathBuf,
        /// The error of the engine or of the operating system.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The disk has no space to open the index or to create one. Its files were left as they are.
    #[error("the passage index in {} cannot be opened or created: make room on its disk", .folder.display())]
    NoSpace {
        /// Folder of the index in the data folder.
        folder: PathBuf,
        /// How much space there is, or the error of the engine or of the operating system.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A damaged index cannot be moved aside.
    #[error(
        "the passage index in {} is damaged and cannot be moved aside: remove the folder, and the service fills a new \
         one from the database", .folder.display()
    )]
    SetAside {
        /// Folder of the index in the data folder.
        folder: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The index was abandoned, because its folder was removed, replaced or moved aside.
    #[error("the passage index was abandoned: its folder was removed, replaced or moved aside")]
    Abandoned,
    /// The engine panicked, which it does on some damage.
    #[error("the engine of the passage index panicked")]
    Panicked,
    /// The engine refused a request, or failed.
    #[error("could not {action} the passage index")]
    Engine {
        /// What failed, as a verb: `search`, `add to`.
        action: &'static str,
        /// The kind of the failure.
        fault: EngineFault,
        /// The error of the engine.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A write failed, and the index is being reloaded, or cannot be reloaded yet, because it is being optimized or its folder is not
    /// in its place.
    #[error("the passage index must be reloaded after a failed write")]
    Blocked,
    /// A write failed, and the index could not be reloaded.
    #[error("the passage index could not be reloaded after a failed write")]
    Unloaded(EngineFault),
    /// Its disk has too little space left for a safe write. Reads are not affected.
    #[error("the disk of the passage index is full")]
    Full,
    /// An embedding does not have the length of the model's vectors.
    #[error("the vector has {actual} dimensions, and the model has {expected}")]
    Dimension {
        /// Dimensions of the model's vectors.
        expected: usize,
        /// Dimensions of the vector that was given.
        actual: usize,
    },
}

impl IndexError {
    /// The kind of the failure if the engine failed; `None` for every other error. A panic counts as damage.
    #[must_use]
    pub fn fault(&self) -> Option<EngineFault> {
        match self {
            IndexError::Panicked => Some(EngineFault::Damage),
            IndexError::Engine { fault, .. } | IndexError::Unloaded(fault) => Some(*fault),
            IndexError::Open(_)
            | IndexError::InUse { .. }
            | IndexError::Environment { .. }
            | IndexError::NoSpace { .. }
            | IndexError::SetAside { .. }
            | IndexError::Abandoned
            | IndexError::Blocked
            | IndexError::Full
            | IndexError::Dimension { .. } => None,
        }
    }

    /// Whether a read or a write that fails with this error indicates a damaged index. A query that the engine refuses is the caller's
    /// fault; a lack of memory, space, open files or permissions the system's; and a disk may fail for a moment.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        self.fault() == Some(EngineFault::Damage)
    }
}

/// A page of the passages of an index, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassagePage {
    /// Ids of the passages in ascending order.
    pub ids: Vec<Uuid>,
    /// Id of the first passage of the next page; `None` on the last page.
    pub next: Option<Uuid>,
}

/// An index of passages. Writes are idempotent, and durable once [`PassageIndex::commit`] has returned.
pub trait PassageIndex: Send + Sync {
    /// Adds passages, or replaces those with the same ids. Never replaces a passage of another tenant.
    ///
    /// # Errors
    /// [`IndexError::Dimension`] when an embedding has the wrong length; then nothing is written. [`IndexError::Full`] and the
    /// failures of the engine.
    fn upsert(&self, tenant: &Tenant, points: Vec<Point>) -> Result<(), IndexError>;

    /// Deletes the passages of a document, except those of the version to keep.
    ///
    /// # Errors
    /// [`IndexError::Full`] and the failures of the engine.
    fn delete_document(&self, tenant: &Tenant, document: Uuid, keep: Option<i64>) -> Result<(), IndexError>;

    /// Deletes all passages of the tenant.
    ///
    /// # Errors
    /// [`IndexError::Full`] and the failures of the engine.
    fn delete_tenant(&self, tenant: &Tenant) -> Result<(), IndexError>;

    /// Replaces the labels of a document's passages. Their vectors stay.
    ///
    /// # Errors
    /// [`IndexError::Full`] and the failures of the engine.
    fn update_labels(&self, tenant: &Tenant, document: Uuid, labels: &Labels) -> Result<(), IndexError>;

    /// Returns the best passages by words and by meaning, one list for each leg.
    ///
    /// # Errors
    /// [`IndexError::Dimension`] when the embedding has the wrong length; the failures of the engine.
    fn search(&self, tenant: &Tenant, query: &IndexQuery) -> Result<HybridHits, IndexError>;

    /// Returns the languages of the tenant's passages. May include languages of passages that were deleted since.
    ///
    /// # Errors
    /// The failures of the engine.
    fn languages(&self, tenant: &Tenant) -> Result<Vec<Language>, IndexError>;

    /// Counts the passages of all users, exactly. Visits all of them.
    ///
    /// # Errors
    /// The failures of the engine.
    fn count(&self) -> Result<usize, IndexError>;

    /// Counts the passages of all users without visiting them. A passage that two segments of the index hold is counted twice: for a
    /// moment while the index is optimized, and possibly after the process was killed, until the next [`PassageIndex::maintain`].
    ///
    /// # Errors
    /// The failures of the engine.
    fn estimate_count(&self) -> Result<usize, IndexError>;

    /// Makes all earlier writes durable.
    ///
    /// # Errors
    /// [`IndexError::Full`] and the failures of the engine.
    fn commit(&self) -> Result<(), IndexError>;

    /// Optimizes the index: moves grown segments from memory to the disk, and frees the space of deleted passages. May take seconds,
    /// during which searches are answered. Returns whether there was anything to do.
    ///
    /// # Errors
    /// [`IndexError::Full`] and the failures of the engine.
    fn maintain(&self) -> Result<bool, IndexError>;

    /// Returns those of these passages, of any user, that the index does not hold. Only for the comparison with the database.
    ///
    /// # Errors
    /// The failures of the engine.
    fn find_missing(&self, passages: &[Uuid]) -> Result<Vec<Uuid>, IndexError>;

    /// Lists at most `limit` passages of all users, starting with this one. Only for the comparison with the database.
    ///
    /// # Errors
    /// The failures of the engine.
    fn list_passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, IndexError>;

    /// Deletes passages of any user that the database does not have. Only for the comparison with the database.
    ///
    /// # Errors
    /// [`IndexError::Full`] and the failures of the engine.
    fn delete_passages(&self, passages: &[Uuid]) -> Result<(), IndexError>;

    /// Returns whether the files from which the index was opened are still in their place. `false` once it is abandoned.
    fn is_in_place(&self) -> bool;

    /// Waits for writes in progress, and prevents all later writes to the folder, including those at drop. Searches are still
    /// answered.
    fn abandon(&self);

    /// Allows writes again after [`PassageIndex::abandon`] if the index's own files are back in their place. Returns whether they are.
    fn resume(&self) -> bool;
}
