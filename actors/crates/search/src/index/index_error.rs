//! Why an operation of the index failed.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::fault::EngineFault;

/// Why an operation of the index failed. Never holds text of a library: the index has none.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another process has the folder open, or its files cannot be read.
    #[error("the passage index could not be opened")]
    Open(#[source] Box<dyn Error + Send + Sync>),
    /// Another process has the folder open.
    #[error("the passage index in {} is open in another process; stop that process", .folder.display())]
    InUse {
        /// Folder of the index in the data folder.
        folder: PathBuf,
    },
    /// The index cannot be opened for a reason that lies outside of its files, so they were left as they are.
    #[error(
        "the passage index in {} cannot be opened: make the user that runs the server its owner, or allow more open files",
        .folder.display()
    )]
    Environment {
        /// Folder of the index in the data folder.
        folder: PathBuf,
        /// The error of the engine or of the operating system.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The disk has no space to open the index or to create one. Its files were left as they are.
    #[error("the passage index in {} cannot be opened or created: free some space on its disk", .folder.display())]
    NoSpace {
        /// Folder of the index in the data folder.
        folder: PathBuf,
        /// How much space there is, or the error of the engine or of the operating system.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A damaged index cannot be moved aside.
    #[error(
        "the passage index in {} is damaged and cannot be renamed: remove the folder, and the server fills a new \
         one from the database", .folder.display()
    )]
    SetAside {
        /// Folder of the index in the data folder.
        folder: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The index was abandoned, because its folder was removed, replaced or moved aside.
    #[error("the passage index is no longer used: its folder was removed, replaced or renamed")]
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
        source: Box<dyn Error + Send + Sync>,
    },
    /// A write failed, and the index is being reloaded, or cannot be reloaded yet, because it is being optimized or its folder is not
    /// in its place. Also when an unloaded index cannot be loaded because its folder is not in its place.
    #[error("the passage index must be loaded again")]
    Blocked,
    /// The index could not be loaded again after a failed write, or after it was unloaded because nothing used it.
    #[error("the passage index could not be loaded again")]
    LoadFailed(EngineFault),
    /// Its disk has too little space left for a safe write, or to load an index that was unloaded because nothing used it. Reads of a
    /// loaded index are not affected.
    #[error("the disk of the passage index is full")]
    Full,
    /// The server that holds the index does not answer, refuses the key, or has failed several times in a row. Says nothing about what the
    /// index holds.
    #[error("the server of the passage index does not answer")]
    Unreachable {
        /// Time after which a request may succeed, above zero.
        retry_after: Duration,
        /// The answer of the server, or why there is none.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// An embedding does not have the length of the model's vectors.
    #[error("the vector has {actual} dimensions, and the model has {expected}")]
    Dimension {
        /// Dimensions of the model's vectors.
        expected: usize,
        /// Dimensions of the vector that was given.
        actual: usize,
    },
    /// An embedding is of a model that the index does not have.
    #[error("the index has no vectors of the model {0}")]
    UnknownModel(String),
}

impl IndexError {
    /// The kind of the failure if the engine failed; `None` for every other error. A panic counts as damage.
    #[must_use]
    pub fn fault(&self) -> Option<EngineFault> {
        match self {
            IndexError::Panicked => Some(EngineFault::Damage),
            IndexError::Engine { fault, .. } | IndexError::LoadFailed(fault) => Some(*fault),
            IndexError::Open(_)
            | IndexError::InUse { .. }
            | IndexError::Environment { .. }
            | IndexError::NoSpace { .. }
            | IndexError::SetAside { .. }
            | IndexError::Abandoned
            | IndexError::Blocked
            | IndexError::Full
            | IndexError::Unreachable { .. }
            | IndexError::Dimension { .. }
            | IndexError::UnknownModel(_) => None,
        }
    }

    /// Returns whether a read or a write that fails with this error indicates a damaged index. A query that the engine refuses is the
    /// caller's fault; a lack of memory, space, open files or permissions the system's; and a disk may fail for a moment.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        self.fault() == Some(EngineFault::Damage)
    }
}
