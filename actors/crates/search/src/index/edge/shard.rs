//! The shard of the engine: loaded from its folder, and loaded again after a write that failed.
//!
//! After one failed write the engine refuses every later one. What it wrote before is in its log, so a shard that is dropped
//! and loaded again continues without loss.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock, TryLockError};

use qdrant_edge::{EdgeShard, OperationError, UpdateOperation};
use tracing::warn;

use super::fault::{failed, fault_of};
use super::{Model, schema};
use crate::index::{EngineFault, IndexError};

/// The shard in a folder. Reads run in parallel; the caller lets one write run at a time.
pub struct Shard {
    folder: PathBuf,
    model: Option<Model>,
    /// The shard, or why it could not be loaded again.
    loaded: RwLock<Result<EdgeShard, EngineFault>>,
    /// Whether a write failed, so that the engine refuses the next.
    is_blocked: AtomicBool,
}

impl Shard {
    /// Loads the shard of a folder, or makes a new one there; adds what it lacks of the model's vector and the payload indexes.
    pub fn open(folder: &Path, model: Option<Model>) -> Result<Self, OperationError> {
        let loaded = load(folder, model.as_ref())?;
        Ok(Self {
            folder: folder.to_owned(),
            model,
            loaded: RwLock::new(Ok(loaded)),
            is_blocked: AtomicBool::new(false),
        })
    }

    /// The model whose vectors the shard has.
    pub fn model(&self) -> Option<&Model> {
        self.model.as_ref()
    }

    /// Reads from the shard; `doing` names it in an error. Does not wait while the shard is loaded again: that may take long,
    /// and reads that wait would take every place of those that are awaited.
    ///
    /// # Errors
    /// [`IndexError::Engine`], or [`IndexError::Unloaded`]; [`IndexError::Blocked`] while the shard is loaded again.
    pub fn read<T>(
        &self,
        doing: &'static str,
        read: impl FnOnce(&EdgeShard) -> Result<T, OperationError>,
    ) -> Result<T, IndexError> {
        let loaded = match self.loaded.try_read() {
            Ok(loaded) => loaded,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Only a reload writes, so it has the lock, or waits for the reads that have it.
            Err(TryLockError::WouldBlock) => return Err(IndexError::Blocked),
        };
        match &*loaded {
            Ok(shard) => read(shard).map_err(failed(doing)),
            Err(fault) => Err(IndexError::Unloaded(*fault)),
        }
    }

    /// Changes the shard.
    ///
    /// # Errors
    /// As [`Self::read`], and [`IndexError::Panicked`]. Where the engine did not merely refuse the operation, the shard is blocked
    /// afterwards.
    pub fn update(&self, doing: &'static str, operation: UpdateOperation) -> Result<(), IndexError> {
        self.write(|| self.read(doing, |shard| shard.update(operation)))
    }

    /// Writes all changes to the disk.
    ///
    /// # Errors
    /// As [`Self::update`].
    pub fn flush(&self) -> Result<(), IndexError> {
        self.write(|| self.read("commit", EdgeShard::flush))
    }

    /// Moves what grew in memory to the disk and removes what was deleted; whether there was anything to do.
    ///
    /// # Errors
    /// As [`Self::update`], and [`IndexError::Blocked`].
    pub fn optimize(&self) -> Result<bool, IndexError> {
        if self.is_blocked() {
            return Err(IndexError::Blocked);
        }
        self.write(|| self.read("pack", EdgeShard::optimize))
    }

    /// Whether a write failed, so that the shard must be loaded again before the next.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::SeqCst)
    }

    /// Loads the shard again and lifts the block. Waits for reads that are under way; others fail meanwhile
    /// ([`IndexError::Blocked`]). The caller sees to it that nothing is written meanwhile and that the folder is still the
    /// shard's own, for the engine flushes a shard that is dropped.
    ///
    /// # Errors
    /// [`IndexError::Unloaded`]: until another call succeeds, reads fail too.
    pub fn reload(&self) -> Result<(), IndexError> {
        let mut loaded = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
        // The engine locks its log, so the old shard goes first.
        *loaded = Err(EngineFault::Outside);
        // The engine panics on some damage and returns an error on other.
        let again = catch_unwind(AssertUnwindSafe(|| load(&self.folder, self.model.as_ref())));
        let fault = match again {
            Ok(Ok(shard)) => {
                *loaded = Ok(shard);
                self.is_blocked.store(false, Ordering::SeqCst);
                warn!("the passage index was loaded again after a failed write");
                return Ok(());
            }
            Ok(Err(error)) => {
                warn!(%error, "the passage index could not be loaded again after a failed write");
                fault_of(&error)
            }
            Err(_panic) => {
                warn!("the engine of the passage index panicked when it was loaded again");
                EngineFault::Damage
            }
        };
        *loaded = Err(fault);
        Err(IndexError::Unloaded(fault))
    }

    /// Keeps the engine from flushing the shard when it is dropped, at the price of its memory.
    pub fn leak(&mut self) {
        let loaded = self.loaded.get_mut().unwrap_or_else(PoisonError::into_inner);
        mem::forget(mem::replace(loaded, Err(EngineFault::Outside)));
    }

    /// Lets the next write load the shard again first.
    pub fn block(&self) {
        self.is_blocked.store(true, Ordering::SeqCst);
    }

    /// Blocks the shard after a write that failed, unless the engine merely refused it.
    fn write<T>(&self, write: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
        let written = catch_unwind(AssertUnwindSafe(write)).unwrap_or(Err(IndexError::Panicked));
        let is_faulty = match &written {
            Err(IndexError::Engine { fault, .. }) => *fault != EngineFault::Refused,
            Err(error) => matches!(error, IndexError::Panicked),
            Ok(_) => false,
        };
        if is_faulty {
            self.block();
        }
        written
    }
}

/// Whether a folder has a shard in it, which would not have to be made.
pub fn exists_in(folder: &Path) -> bool {
    folder.join("edge_config.json").exists()
}

fn load(folder: &Path, model: Option<&Model>) -> Result<EdgeShard, OperationError> {
    let shard = if exists_in(folder) {
        EdgeShard::load(folder, Some(schema::tunables().build()))?
    } else {
        EdgeShard::new(folder, schema::fresh(model))?
    };
    complete(&shard, model)?;
    Ok(shard)
}

/// Adds what an older or half-made shard lacks: the model's vector, the payload indexes.
fn complete(shard: &EdgeShard, model: Option<&Model>) -> Result<(), OperationError> {
    if let Some(model) = model {
        let has_vector = shard.config().vectors.contains_key(&model.vector());
        if !has_vector {
            shard.update(schema::new_vector(model))?;
        }
    }
    let there = shard.info()?.payload_schema;
    for (label, kind) in schema::lookups() {
        if !there.contains_key(&schema::path(label)) {
            shard.update(schema::new_lookup(label, kind))?;
        }
    }
    shard.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_that_panics_blocks_the_shard_until_it_is_loaded_again() {
        let folder = tempfile::tempdir().unwrap();
        let shard = Shard::open(folder.path(), None).unwrap();

        let panicked = shard.write::<()>(|| panic!("the engine met damage"));

        assert!(matches!(panicked, Err(IndexError::Panicked)) && shard.is_blocked());
        shard.reload().unwrap();
        assert!(!shard.is_blocked() && shard.flush().is_ok());
    }

    #[test]
    fn read_is_refused_at_once_while_the_shard_is_loaded_again() {
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
