//! The passage index: every passage of every library, found by its words and by its meaning.
//!
//! The database is the truth and holds the text; the index holds ids, labels and vectors, and can be built again from
//! the database at any time. No query and no change exists without a [`Tenant`], and a tenant is made from a user's id
//! alone, so one user's passages never meet another's; the comparison with the database alone speaks of bare ids. Every method blocks: run it as blocking work. Reads run beside
//! each other and beside a write; writes wait for one another. While an index is loaded again after a write that failed, reads do
//! not wait: they fail as [`IndexError::Blocked`].

#[cfg(test)]
mod contract;
pub mod doubt;
pub mod edge;
mod fault;
pub mod folder;
pub mod language;
pub mod marker;
mod openings;

use std::path::PathBuf;

use uuid::Uuid;

pub use doubt::Doubt;
pub use edge::EdgeIndex;
pub use fault::EngineFault;
pub use folder::{IndexFolder, OpenedIndex};
pub use language::Language;
pub use marker::Marker;

/// Whose passages may be seen or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tenant(Uuid);

impl Tenant {
    /// The passages of this user, and of nobody else.
    #[must_use]
    pub fn of(user: Uuid) -> Self {
        Self(user)
    }
}

/// Which half of a library a passage stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Bookmarks, uploads and notes.
    Bookmarks,
    /// Entries of feeds that are not bookmarked.
    Feeds,
}

/// Weights of words by their number. A passage's are BM25 term weights, a query's are small factors; the inverse document
/// frequency is added by the index, over the passages of the tenant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sparse {
    /// Numbers of the words, rising, each once.
    pub indices: Vec<u32>,
    /// A weight for each of them.
    pub values: Vec<f32>,
}

impl Sparse {
    /// Whether it holds no word at all, so that nothing can match it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }
}

/// What a passage is filed under; it changes without the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// The half of the library.
    pub source: Source,
    /// The feed it came in by.
    pub feed: Option<Uuid>,
    /// The collections that its document is in.
    pub collections: Vec<Uuid>,
}

/// One passage of a version of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The chunk's id.
    pub id: Uuid,
    /// The document it is a part of.
    pub document: Uuid,
    /// The version of the document's text.
    pub version: i64,
    /// What it is filed under.
    pub labels: Labels,
    /// The language that `sparse` was made in.
    pub language: Language,
    /// Its words.
    pub sparse: Sparse,
    /// Its meaning, of the open model's length; none until there is a model, and then the passage is put in again.
    pub dense: Option<Vec<f32>>,
}

/// Which passages of the tenant's are asked for; all that is named must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// One half of the library.
    pub source: Option<Source>,
    /// In this collection.
    pub collection: Option<Uuid>,
    /// Of this feed.
    pub feed: Option<Uuid>,
    /// Of one of these documents; an empty list finds nothing.
    pub documents: Option<Vec<Uuid>>,
}

/// One search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The words asked for, as each language of the library reads them.
    pub sparse: Sparse,
    /// The meaning asked for; none leaves the dense leg out.
    pub dense: Option<Vec<f32>>,
    /// Where to look.
    pub filter: Filter,
    /// How many passages each leg brings at most.
    pub depth: usize,
}

/// A passage that a leg found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The chunk's id.
    pub id: Uuid,
    /// Its document.
    pub document: Uuid,
    /// BM25 in the lexical leg (above 0), cosine in the dense one (-1 to 1).
    pub score: f32,
}

/// What each leg found, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Legs {
    /// Passages that share a word with the query.
    pub lexical: Vec<Hit>,
    /// Passages nearest in meaning, however far that is.
    pub dense: Vec<Hit>,
}

/// Why the index could not do it. Holds no text: there is none in the index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another process has the folder open, or its files cannot be read.
    #[error("open the passage index")]
    Open(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Another process has the folder open.
    #[error("the passage index in {} is open in another process: end that process", .folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder cannot be opened for a reason that lies outside of its files, so they were left as they are.
    #[error(
        "the passage index in {} cannot be opened: make room on its disk, give it to the user of the service, or \
         allow more open files", .folder.display()
    )]
    Outside {
        /// The folder.
        folder: PathBuf,
        /// What the engine or the operating system said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A damaged index cannot be moved aside.
    #[error(
        "the passage index in {} is damaged and cannot be moved aside: remove the folder, and the service fills a new \
         one from the database", .folder.display()
    )]
    SetAside {
        /// The folder.
        folder: PathBuf,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
    /// The index was given up: its folder was removed, replaced or moved aside.
    #[error("write a passage index that was given up")]
    Abandoned,
    /// The engine panicked.
    #[error("the engine of the passage index panicked")]
    Panicked,
    /// The engine refused or failed.
    #[error("{doing} the passage index")]
    Engine {
        /// What was being done to it, in one word.
        doing: &'static str,
        /// What that tells of the index.
        fault: EngineFault,
        /// What the engine said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A write failed, and the index is being loaded again, or cannot be yet: it is being packed, or its folder is not in its
    /// place.
    #[error("use the passage index: it must be loaded again after a failed write")]
    Blocked,
    /// A write failed, and the index could not be loaded again.
    #[error("use the passage index: it could not be loaded again after a failed write")]
    Unloaded(EngineFault),
    /// Too little room is left on its disk to write safely; reading goes on.
    #[error("write the passage index: its disk is full")]
    Full,
    /// A dense vector is not of the model's length.
    #[error("use a vector of {got} numbers where the model makes {wanted}")]
    Dimension {
        /// How many the open model makes.
        wanted: usize,
        /// How many were given.
        got: usize,
    },
}

impl IndexError {
    /// Whether a read that failed so tells of damage: the engine failed by itself. A query that it refuses is the caller's fault, and
    /// want of memory, files or permissions the system's.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            IndexError::Panicked => true,
            IndexError::Engine { fault, .. } | IndexError::Unloaded(fault) => *fault == EngineFault::Damage,
            IndexError::Open(_)
            | IndexError::InUse { .. }
            | IndexError::Outside { .. }
            | IndexError::SetAside { .. }
            | IndexError::Abandoned
            | IndexError::Blocked
            | IndexError::Full
            | IndexError::Dimension { .. } => false,
        }
    }
}

/// Some passages of an index, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassagePage {
    /// The passages.
    pub ids: Vec<Uuid>,
    /// The first passage of the next page; none where this is the last.
    pub next: Option<Uuid>,
}

/// An index of passages. Nothing is durable before [`PassageIndex::commit`] returns; doing the same again is harmless.
pub trait PassageIndex: Send + Sync {
    /// Adds passages, or puts them in the place of those with the same ids. A passage of another tenant is never replaced.
    ///
    /// # Errors
    /// The engine's, a full disk's, or a dense vector of the wrong length; then none of them is in.
    fn upsert(&self, tenant: &Tenant, points: Vec<Point>) -> Result<(), IndexError>;

    /// Removes a document's passages, all but those of the version to keep.
    ///
    /// # Errors
    /// The engine's, or a full disk's.
    fn delete_document(&self, tenant: &Tenant, document: Uuid, keep: Option<i64>) -> Result<(), IndexError>;

    /// Removes all of the tenant's passages.
    ///
    /// # Errors
    /// The engine's, or a full disk's.
    fn delete_tenant(&self, tenant: &Tenant) -> Result<(), IndexError>;

    /// Files a document's passages anew; their vectors stay.
    ///
    /// # Errors
    /// The engine's, or a full disk's.
    fn patch_document(&self, tenant: &Tenant, document: Uuid, labels: &Labels) -> Result<(), IndexError>;

    /// The best passages by words and by meaning, each leg for itself.
    ///
    /// # Errors
    /// The engine's, or a dense vector of the wrong length.
    fn search(&self, tenant: &Tenant, plan: &Plan) -> Result<Legs, IndexError>;

    /// The languages that the tenant's passages are in; perhaps one more that they were in before.
    ///
    /// # Errors
    /// The engine's.
    fn languages(&self, tenant: &Tenant) -> Result<Vec<Language>, IndexError>;

    /// How many passages there are, of all users. Passes over all of them.
    ///
    /// # Errors
    /// The engine's.
    fn count(&self) -> Result<usize, IndexError>;

    /// How many passages there are, of all users, without a pass over them. Counts twice what two parts of the index hold: for
    /// a moment while it is packed, and perhaps after a process was killed, until it is packed again.
    ///
    /// # Errors
    /// The engine's.
    fn estimate_count(&self) -> Result<usize, IndexError>;

    /// Makes all that was written before durable.
    ///
    /// # Errors
    /// The engine's, or a full disk's.
    fn commit(&self) -> Result<(), IndexError>;

    /// Packs what has piled up: moves grown parts out of memory and removed passages off the disk. Takes seconds when
    /// there is much to do, and searches go on meanwhile. Says whether there was anything to do.
    ///
    /// # Errors
    /// The engine's, or a full disk's.
    fn maintain(&self) -> Result<bool, IndexError>;

    /// Which of these passages, of any user, the index does not hold. For the comparison with the database alone.
    ///
    /// # Errors
    /// The engine's.
    fn missing(&self, passages: &[Uuid]) -> Result<Vec<Uuid>, IndexError>;

    /// Passages of all users from this one on, at most `limit`. For the comparison with the database alone.
    ///
    /// # Errors
    /// The engine's.
    fn passages(&self, from: Option<Uuid>, limit: usize) -> Result<PassagePage, IndexError>;

    /// Removes passages of any user: those that are in no row of the database.
    ///
    /// # Errors
    /// The engine's.
    fn remove(&self, passages: &[Uuid]) -> Result<(), IndexError>;

    /// Whether the files that the index was opened from are where they were. `false` once it is given up.
    fn is_in_place(&self) -> bool;

    /// Gives the index up: it waits for writes that are under way, then writes to its folder no more, not even when it is
    /// dropped. Searching goes on.
    fn abandon(&self);

    /// Takes an index up again that was given up, where its own files are back in their place; whether they are.
    fn resume(&self) -> bool;
}
