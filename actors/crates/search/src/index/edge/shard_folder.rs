//! The folder of a shard: whether it is still the shard's own, and the space on its disk.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use disk::{FileIdentity, MIN_FREE_TO_ADD_BYTES, available_bytes};
use tracing::warn;

use super::fault::measurement_error;
use crate::index::index_error::IndexError;

/// The folder of the engine's log, which the engine locks while the shard is loaded.
const LOG_FOLDER: &str = "wal";
/// Folders that the engine does not replace.
const STABLE_FOLDERS: [&str; 2] = ["segments", LOG_FOLDER];

/// The identities of the stable folders; `None` for one that does not exist.
type Identity = [Option<FileIdentity>; 2];

fn identity_of(folder: &Path) -> Identity {
    STABLE_FOLDERS.map(|name| fs::symlink_metadata(folder.join(name)).ok().as_ref().map(FileIdentity::from))
}

/// The folder that a shard was loaded from.
pub struct ShardFolder {
    path: PathBuf,
    identity: Identity,
    /// The folder of the log. It is open also while the shard is not loaded: its inode is then not used again, so that no other folder
    /// has its identity.
    log: File,
    is_abandoned: AtomicBool,
    /// Bytes that must be free on the disk to load a shard or to add to it: [`MIN_FREE_TO_ADD_BYTES`], or another number in a test.
    pub min_free_to_add: u64,
}

impl ShardFolder {
    /// Notes the identity of a folder whose shard was just loaded.
    ///
    /// # Errors
    /// The folder of the log cannot be opened.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            identity: identity_of(path),
            log: File::open(path.join(LOG_FOLDER))?,
            is_abandoned: AtomicBool::new(false),
            min_free_to_add: MIN_FREE_TO_ADD_BYTES,
        })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the folder that the shard was loaded from is at its path.
    pub fn is_own(&self) -> bool {
        identity_of(&self.path) == self.identity
    }

    /// Returns whether the folder is the shard's own and not abandoned.
    pub fn is_in_place(&self) -> bool {
        !self.is_abandoned() && self.is_own()
    }

    /// Returns whether nothing may be written to the folder any more.
    pub fn is_abandoned(&self) -> bool {
        self.is_abandoned.load(Ordering::SeqCst)
    }

    /// Sets whether nothing may be written to the folder any more.
    pub fn set_abandoned(&self, is_abandoned: bool) {
        self.is_abandoned.store(is_abandoned, Ordering::SeqCst);
    }

    /// Refuses if nothing may be written to the folder any more.
    ///
    /// # Errors
    /// [`IndexError::Abandoned`].
    pub fn require_not_abandoned(&self) -> Result<(), IndexError> {
        if self.is_abandoned() { Err(IndexError::Abandoned) } else { Ok(()) }
    }

    /// Refuses to load a shard that is not loaded: the engine writes into the folder when it loads it, and without space it would end the
    /// process.
    ///
    /// # Errors
    /// [`IndexError::Abandoned`]; [`IndexError::Blocked`] when the folder is not the shard's own; [`IndexError::Full`].
    pub fn require_loadable(&self) -> Result<(), IndexError> {
        self.require_not_abandoned()?;
        if !self.is_own() {
            return Err(IndexError::Blocked);
        }
        self.require_space_to_add()
    }

    /// Measures the free bytes of the disk.
    ///
    /// # Errors
    /// [`IndexError::Engine`] when the folder does not exist or its disk cannot be measured.
    pub fn free_bytes(&self) -> Result<u64, IndexError> {
        available_bytes(&self.path).map_err(measurement_error("measure the disk of"))
    }

    /// Refuses if the disk has too little space to load a shard or to add to it.
    ///
    /// # Errors
    /// The errors of [`Self::require_free`].
    pub fn require_space_to_add(&self) -> Result<(), IndexError> {
        self.require_free(self.min_free_to_add)
    }

    /// Refuses if the disk has less free space than this.
    ///
    /// # Errors
    /// [`IndexError::Full`] when fewer bytes are free; the errors of [`Self::free_bytes`].
    pub fn require_free(&self, bytes: u64) -> Result<(), IndexError> {
        if self.free_bytes()? < bytes { Err(IndexError::Full) } else { Ok(()) }
    }

    /// Refuses unless there is space for a second copy of everything and for the quantized form of all vectors, which optimizing may write.
    ///
    /// # Errors
    /// [`IndexError::Full`]; [`IndexError::Engine`] when the disk or the files cannot be measured.
    pub fn require_space_to_optimize(&self) -> Result<(), IndexError> {
        let used = allocated_bytes(&self.path).map_err(measurement_error("measure the files of"))?;
        // A segment that is moved to the disk also gets quantized vectors, a quarter of their size.
        self.require_free(self.min_free_to_add.saturating_add(used + used / 3))
    }

    /// Locks the log in place of the engine, while the shard is not loaded, so that no other process can open the folder.
    pub fn lock_log(&self) {
        if let Err(cause) = self.log.try_lock() {
            warn!(%cause, "the log of the passage index could not be locked, so another process may open it");
        }
    }

    /// Releases the lock, so that the engine can take it.
    pub fn unlock_log(&self) {
        if let Err(cause) = self.log.unlock() {
            warn!(%cause, "the log of the passage index could not be unlocked");
        }
    }
}

/// Bytes that the files of a folder occupy on the disk, which is less than their lengths: mapped files have holes.
fn allocated_bytes(folder: &Path) -> io::Result<u64> {
    const BLOCK_BYTES: u64 = 512;
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += if found.is_dir() { allocated_bytes(&entry.path())? } else { found.blocks() * BLOCK_BYTES };
    }
    Ok(bytes)
}
