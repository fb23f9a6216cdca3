//! The shard of the engine: loaded from its folder, and reloaded after a failed write.
//!
//! After one failed write the engine refuses every later one. Earlier writes are in its log, so a shard that is dropped and loaded
//! again continues without loss.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, TryLockError};

use qdrant_edge::{EdgeShard, OperationError, UpdateOperation};
use tracing::warn;

use super::fault::{classify, engine_error};
use super::schema;
use super::vector_model::VectorModel;
use crate::index::fault::EngineFault;
use crate::index::index_error::IndexError;

/// The shard in a folder. Reads run in parallel; the caller lets one write run at a time.
pub struct Shard {
    folder: PathBuf,
    model: Option<VectorModel>,
    /// The shard, or why it could not be reloaded.
    loaded: RwLock<Result<EdgeShard, EngineFault>>,
    /// Whether a write failed, so that the engine refuses the next.
    is_blocked: AtomicBool,
}

impl Shard {
    /// Loads the shard of a folder, or creates one there. Adds the vector of the model and the payload indexes that it lacks.
    pub fn open(folder: &Path, model: Option<VectorModel>) -> Result<Self, OperationError> {
        let loaded = load(folder, model.as_ref())?;
        Ok(Self {
            folder: folder.to_owned(),
            model,
            loaded: RwLock::new(Ok(loaded)),
            is_blocked: AtomicBool::new(false),
        })
    }

    /// Returns the model whose vectors the shard has.
    pub fn model(&self) -> Option<&VectorModel> {
        self.model.as_ref()
    }

    /// Reads from the shard; `action` names the read in an error. Does not wait while the shard is reloaded: that may take long, and
    /// waiting reads would occupy every worker.
    ///
    /// # Errors
    /// [`IndexError::Engine`], or [`IndexError::Unloaded`]; [`IndexError::Blocked`] while the shard is reloaded.
    pub fn read<T>(
        &self,
        action: &'static str,
        read: impl FnOnce(&EdgeShard) -> Result<T, OperationError>,
    ) -> Result<T, IndexError> {
        let loaded = match self.loaded.try_read() {
            Ok(loaded) => loaded,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Only a reload takes the write lock: it holds it, or waits for the reads in progress.
            Err(TryLockError::WouldBlock) => return Err(IndexError::Blocked),
        };
        match &*loaded {
            Ok(shard) => read(shard).map_err(engine_error(action)),
            Err(fault) => Err(IndexError::Unloaded(*fault)),
        }
    }

    /// Changes the shard; `action` names the change in an error.
    ///
    /// # Errors
    /// The errors of [`Self::read`]; [`IndexError::Panicked`]. Unless the engine merely refused the operation, the shard is blocked
    /// afterwards.
    pub fn update(&self, action: &'static str, operation: UpdateOperation) -> Result<(), IndexError> {
        // Under the read lock, so that searches continue: the engine orders its changes itself. The write lock is for a reload.
        self.write(|| self.read(action, |shard| shard.update(operation)))
    }

    /// Writes all changes to the disk.
    ///
    /// # Errors
    /// The same as [`Self::update`], and the shard is blocked in the same way.
    pub fn flush(&self) -> Result<(), IndexError> {
        self.write(|| self.read("commit", EdgeShard::flush))
    }

    /// Moves grown segments from memory to the disk, and frees the space of deleted points. Returns whether there was anything to do.
    ///
    /// # Errors
    /// The same as [`Self::update`]; [`IndexError::Blocked`] when a write failed before.
    pub fn optimize(&self) -> Result<bool, IndexError> {
        if self.is_blocked() {
            return Err(IndexError::Blocked);
        }
        self.write(|| self.read("optimize", EdgeShard::optimize))
    }

    /// Returns whether a write failed, so that the shard must be reloaded before the next.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::SeqCst)
    }

    /// Reloads the shard and unblocks it. Waits for reads in progress; others fail meanwhile ([`IndexError::Blocked`]). The caller
    /// ensures that nothing is written meanwhile and that the folder is still the shard's own, because the engine flushes a shard
    /// that is dropped.
    ///
    /// # Errors
    /// [`IndexError::Unloaded`]: until another call succeeds, reads fail too.
    pub fn reload(&self) -> Result<(), IndexError> {
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        // The engine locks its log, so the old shard must be dropped first.
        *loaded = Err(EngineFault::Environment);
        // The engine panics on some damage and returns an error on other.
        let reloaded = catch_unwind(AssertUnwindSafe(|| load(&self.folder, self.model.as_ref())));
        let fault = match reloaded {
            Ok(Ok(shard)) => {
                *loaded = Ok(shard);
                self.is_blocked.store(false, Ordering::SeqCst);
                warn!("the passage index was loaded again after a failed write");
                return Ok(());
            }
            Ok(Err(error)) => {
                warn!(%error, "the passage index could not be loaded again after a failed write");
                classify(&error)
            }
            Err(_panic) => {
                warn!("the engine of the passage index panicked when it was loaded again");
                EngineFault::Damage
            }
        };
        *loaded = Err(fault);
        Err(IndexError::Unloaded(fault))
    }

    /// Prevents the engine from flushing the shard when it is dropped, at the cost of its memory.
    pub fn leak(&mut self) {
        let loaded = self.loaded.get_mut().unwrap_or_else(PoisonError::into_inner);
        mem::forget(mem::replace(loaded, Err(EngineFault::Environment)));
    }

    /// Makes the next write reload the shard first.
    pub fn block(&self) {
        self.is_blocked.store(true, Ordering::SeqCst);
    }

    /// Blocks the shard if the write fails, unless the engine merely refused it.
    fn write<T>(&self, write: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
        let written = catch_unwind(AssertUnwindSafe(write)).unwrap_or(Err(IndexError::Panicked));
        let is_faulty = match &written {
            // A refused request leaves the index unchanged, and the engine takes the next one.
            Err(IndexError::Engine { fault, .. }) => *fault != EngineFault::InvalidRequest,
            Err(error) => matches!(error, IndexError::Panicked),
            Ok(_) => false,
        };
        if is_faulty {
            self.block();
        }
        written
    }
}

/// Returns whether a folder holds a shard.
pub fn exists_in(folder: &Path) -> bool {
    // The settings of the engine, which every shard has.
    folder.join("edge_config.json").exists()
}

fn load(folder: &Path, model: Option<&VectorModel>) -> Result<EdgeShard, OperationError> {
    let shard = if exists_in(folder) {
        // Without vectors: the stored ones stay, and settings of a newer version of the server apply to an old shard.
        EdgeShard::load(folder, Some(schema::tunable_config().build()))?
    } else {
        EdgeShard::new(folder, schema::new_config(model))?
    };
    require_format(&shard)?;
    add_missing(&shard, model)?;
    Ok(shard)
}

/// Refuses a shard with an index of a payload field that this version of the server does not have: another version wrote its passages, and
/// filters would not match them. The refusal counts as damage, so the shard is replaced and filled again from the database.
fn require_format(shard: &EdgeShard) -> Result<(), OperationError> {
    let fields = schema::payload_indexes().map(|(field, _)| schema::field_path(field));
    match shard.info()?.payload_schema.keys().find(|path| !fields.contains(path)) {
        Some(path) => Err(OperationError::inconsistent_storage(format!(
            "it has an index of the payload field `{path}`, so another version of the server wrote it"
        ))),
        None => Ok(()),
    }
}

/// Adds what an older or incomplete shard lacks: the vector of the model, and payload indexes.
fn add_missing(shard: &EdgeShard, model: Option<&VectorModel>) -> Result<(), OperationError> {
    if let Some(model) = model {
        let has_vector = shard.config().vectors.contains_key(&model.vector_name());
        if !has_vector {
            shard.update(schema::create_vector(model))?;
        }
    }
    let existing = shard.info()?.payload_schema;
    for (field, kind) in schema::payload_indexes() {
        if !existing.contains_key(&schema::field_path(field)) {
            shard.update(schema::create_payload_index(field, kind))?;
        }
    }
    shard.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_that_panics_blocks_the_shard_until_a_reload() {
        let folder = tempfile::tempdir().unwrap();
        let shard = Shard::open(folder.path(), None).unwrap();

        let panicked = shard.write::<()>(|| panic!("the engine met damage"));

        assert!(matches!(panicked, Err(IndexError::Panicked)) && shard.is_blocked());
        shard.reload().unwrap();
        assert!(!shard.is_blocked() && shard.flush().is_ok());
    }

    #[test]
    fn shard_of_another_format_counts_as_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let shard = Shard::open(folder.path(), None).unwrap();
        let [(_, kind), ..] = schema::payload_indexes();
        shard.update("change", schema::create_payload_index("lang", kind)).unwrap();
        drop(shard);

        let refused = Shard::open(folder.path(), None).err().unwrap();

        assert_eq!(classify(&refused), EngineFault::Damage);
        assert!(refused.to_string().contains("`lang`"), "{refused}");
    }

    #[test]
    fn read_during_a_reload_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let shard = Shard::open(folder.path(), None).unwrap();
        let read = || shard.read("read", |shard| shard.info().map(drop));

        let reload = shard.loaded.write().unwrap();
        let refused = read().unwrap_err();

        assert!(matches!(refused, IndexError::Blocked) && !refused.is_damage());
        drop(reload);
        assert!(read().is_ok());
    }
}
