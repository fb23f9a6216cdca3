//! The shard of the engine: loaded from its folder, reloaded after a failed write, and unloaded while nothing uses it.
//!
//! After one failed write the engine refuses every later one. Earlier writes are in its log, so a shard that is dropped and loaded
//! again continues without loss.
//!
//! A loaded shard takes memory also while nobody searches, and loading it takes time: the script `tests/bench/memory.py` prints both. So a
//! shard that was not used for a while is flushed and dropped, and the next read or write loads it again. Nothing of it is in memory then
//! that is not on the disk. Its folder stays locked while it is not loaded ([`ShardFolder::lock_log`]).

mod content;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, TryLockError, TryLockResult};
use std::time::{Duration, Instant};

use qdrant_edge::{CountRequest, EdgeShard, OperationError, UpdateOperation};
use tracing::{debug, warn};

use self::content::{ShardContent, is_transient, load_or_fault};
use super::fault::engine_error;
use super::load::load_shard;
use super::shard_folder::ShardFolder;
use crate::index::fault::EngineFault;
use crate::index::index_error::IndexError;
use crate::index::vector_model::VectorModels;

/// The shard in a folder. Reads run in parallel; the caller lets one write run at a time.
pub struct Shard {
    folder: ShardFolder,
    models: VectorModels,
    content: RwLock<ShardContent>,
    /// Held while an unloaded shard is loaded, or one is unloaded: requests wait for it. Lock order: before `content`.
    loading: Mutex<()>,
    /// When a request last used the shard.
    used_at: Mutex<Instant>,
    /// Whether the next write must reload the shard: a write failed, or the shard could not be loaded because it is damaged.
    is_blocked: AtomicBool,
}

impl Shard {
    /// Loads the shard of a folder, or creates one there. Adds the vectors of the models and the payload indexes that it lacks.
    ///
    /// # Errors
    /// The error of the engine, or of the operating system if the folder of the log cannot be opened.
    pub fn open(folder: &Path, models: VectorModels) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let loaded = load_shard(folder, &models.list())?;
        Ok(Self {
            folder: ShardFolder::new(folder)?,
            models,
            content: RwLock::new(ShardContent::Loaded(Box::new(loaded))),
            loading: Mutex::new(()),
            used_at: Mutex::new(Instant::now()),
            is_blocked: AtomicBool::new(false),
        })
    }

    /// Returns the folder of the shard.
    pub fn folder(&self) -> &ShardFolder {
        &self.folder
    }

    /// Returns the folder of the shard, to change its limits.
    #[cfg(test)]
    pub fn folder_mut(&mut self) -> &mut ShardFolder {
        &mut self.folder
    }

    /// Returns the models whose vectors the shard has.
    pub fn models(&self) -> &VectorModels {
        &self.models
    }

    /// Reads from the shard; `action` names the read in an error. Loads an unloaded shard first: requests that need it at the same
    /// time wait for one of them to load it. Does not wait while the shard is reloaded after a failed write: that may take long, and waiting
    /// reads would occupy every worker.
    ///
    /// # Errors
    /// [`IndexError::Engine`], or [`IndexError::LoadFailed`]; [`IndexError::Blocked`] while the shard is reloaded; for an unloaded shard
    /// also the errors of [`ShardFolder::require_loadable`].
    pub fn read<T>(
        &self,
        action: &'static str,
        read: impl FnOnce(&EdgeShard) -> Result<T, OperationError>,
    ) -> Result<T, IndexError> {
        self.note_use();
        self.run(action, read)
    }

    /// Changes the shard; `action` names the change in an error.
    ///
    /// # Errors
    /// The errors of [`Self::read`]; [`IndexError::Panicked`]. Unless the engine merely refused the operation, the shard is blocked
    /// afterwards.
    pub fn update(&self, action: &'static str, operation: UpdateOperation) -> Result<(), IndexError> {
        // Under the read lock, so that searches continue: the engine orders its changes itself. The write lock is for loading.
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
    /// Does not count as use.
    ///
    /// # Errors
    /// The same as [`Self::update`]; [`IndexError::Blocked`] when a write failed before.
    pub fn optimize(&self) -> Result<bool, IndexError> {
        if self.is_blocked() {
            return Err(IndexError::Blocked);
        }
        self.write(|| self.run("optimize", EdgeShard::optimize))
    }

    /// Estimates the number of points. Neither counts as use nor loads an unloaded shard.
    ///
    /// # Errors
    /// The same as [`Self::read`] for a loaded shard; [`IndexError::Full`] when an unloaded one cannot be loaded, because its disk has
    /// too little space.
    pub fn estimate_count(&self) -> Result<usize, IndexError> {
        let content = match self.try_content() {
            Some(content) => content,
            None => {
                // An unloaded shard that is being loaded is not to be taken for one whose write failed.
                let _loading = self.lock_loading();
                self.try_content().ok_or(IndexError::Blocked)?
            }
        };
        if let ShardContent::Unloaded { passages } = &*content {
            // A disk that cannot be measured says nothing of its space.
            let is_full = matches!(self.folder.require_space_to_add(), Err(IndexError::Full));
            return if is_full { Err(IndexError::Full) } else { Ok(*passages) };
        }
        estimate(content.shard()?).map_err(engine_error("count"))
    }

    /// Returns whether the next write must reload the shard: a write failed, or the shard could not be loaded because it is damaged.
    pub fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::SeqCst)
    }

    /// Returns whether the shard was unloaded because nothing used it. While the caller prevents writes or optimizing, no other
    /// thread unloads it: `false` stays the answer.
    pub fn is_unloaded(&self) -> bool {
        self.try_content().is_some_and(|content| matches!(*content, ShardContent::Unloaded { .. }))
    }

    /// Reloads the shard and unblocks it. Waits for reads in progress; others fail meanwhile ([`IndexError::Blocked`]). The caller
    /// ensures that nothing is written meanwhile and that the folder is still the shard's own, because the engine flushes a shard
    /// that is dropped.
    ///
    /// # Errors
    /// [`IndexError::LoadFailed`]: until another call succeeds, reads fail too.
    pub fn reload(&self) -> Result<(), IndexError> {
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        self.replace_content(&mut content)?;
        warn!("the passage index was loaded again after a failed write");
        Ok(())
    }

    /// Loads the shard if it is unloaded, and counts as use.
    ///
    /// # Errors
    /// The errors of [`Self::read`].
    pub fn ensure_loaded(&self) -> Result<(), IndexError> {
        self.note_use();
        self.usable_content().map(drop)
    }

    /// Flushes and unloads the shard if no request used it for this time. Returns whether it did. The caller ensures that nothing is
    /// written or optimized meanwhile, and that the folder is still the shard's own, as for [`Self::reload`].
    ///
    /// # Errors
    /// [`IndexError::Engine`] or [`IndexError::Panicked`] when the flush fails: the shard stays loaded, and is blocked.
    pub fn unload(&self, unused_for: Duration) -> Result<bool, IndexError> {
        let _loading = self.lock_loading();
        // A read in progress holds it.
        let Some(mut content) = try_guard(self.content.try_write()) else { return Ok(false) };
        let ShardContent::Loaded(shard) = &*content else { return Ok(false) };
        if self.is_blocked() || self.used_at().elapsed() < unused_for {
            return Ok(false);
        }
        let passages = self.write(|| flush_and_estimate(shard).map_err(engine_error("unload")))?;
        *content = ShardContent::Unloaded { passages };
        self.folder.lock_log();
        debug!("the passage index was unloaded, because nothing used it");
        Ok(true)
    }

    /// Prevents all later writes to the folder. The caller ensures that nothing is written or optimized meanwhile. An unloaded shard is not
    /// loaded until [`Self::resume`].
    pub fn abandon(&self) {
        // The engine writes into the folder when it loads a shard.
        let _loading = self.lock_loading();
        self.folder.set_abandoned(true);
    }

    /// Allows writes again if the folder is the shard's own. Returns whether it is.
    pub fn resume(&self) -> bool {
        let _loading = self.lock_loading();
        let is_back = self.folder.is_own();
        if is_back {
            self.folder.set_abandoned(false);
        }
        is_back
    }

    /// Prevents the engine from flushing the shard when it is dropped, at the cost of its memory.
    pub fn leak(&mut self) {
        let content = self.content.get_mut().unwrap_or_else(PoisonError::into_inner);
        mem::forget(mem::replace(content, ShardContent::Failed(EngineFault::Environment)));
    }

    /// Makes the next write reload the shard first.
    pub fn block(&self) {
        self.is_blocked.store(true, Ordering::SeqCst);
    }

    fn note_use(&self) {
        *self.used_at() = Instant::now();
    }

    fn used_at(&self) -> MutexGuard<'_, Instant> {
        self.used_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_loading(&self) -> MutexGuard<'_, ()> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the content, or `None` while it is loaded, reloaded or unloaded.
    fn try_content(&self) -> Option<RwLockReadGuard<'_, ShardContent>> {
        try_guard(self.content.try_read())
    }

    fn run<T>(
        &self,
        action: &'static str,
        run: impl FnOnce(&EdgeShard) -> Result<T, OperationError>,
    ) -> Result<T, IndexError> {
        let content = self.usable_content()?;
        run(content.shard()?).map_err(engine_error(action))
    }

    /// Returns the content, after it was loaded if necessary.
    fn usable_content(&self) -> Result<RwLockReadGuard<'_, ShardContent>, IndexError> {
        if let Some(content) = self.try_content()
            && !self.must_load(&content)
        {
            return Ok(content);
        }
        let _loading = self.lock_loading();
        if self.try_content().is_some_and(|content| self.must_load(&content)) {
            self.load_unloaded()?;
        }
        // Nothing is loaded or unloaded under the lock above. So only a reload holds the write lock, or waits for the reads in progress.
        self.try_content().ok_or(IndexError::Blocked)
    }

    /// Returns whether the next request loads the shard: it is unloaded, or could not be loaded then for a reason that may have passed. After
    /// damage, or a failed write, only a write loads it again.
    fn must_load(&self, content: &ShardContent) -> bool {
        match content {
            ShardContent::Loaded(_) => false,
            ShardContent::Unloaded { .. } => true,
            ShardContent::Failed(fault) => is_transient(*fault) && !self.is_blocked(),
        }
    }

    /// Loads the shard, unless a reload has done so meanwhile. The caller holds `loading`.
    fn load_unloaded(&self) -> Result<(), IndexError> {
        self.folder.require_loadable()?;
        let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
        if !self.must_load(&content) {
            return Ok(());
        }
        self.replace_content(&mut content)?;
        debug!("the unloaded passage index was loaded");
        Ok(())
    }

    /// Replaces the content by the shard in the folder, and unblocks it. A failure is logged, and is the new content.
    fn replace_content(&self, content: &mut ShardContent) -> Result<(), IndexError> {
        // The engine locks its log, so the old shard must be dropped first.
        *content = ShardContent::Failed(EngineFault::Environment);
        self.folder.unlock_log();
        match load_or_fault(self.folder.path(), &self.models.list()) {
            Ok(shard) => {
                *content = ShardContent::Loaded(Box::new(shard));
                self.is_blocked.store(false, Ordering::SeqCst);
                Ok(())
            }
            Err(fault) => {
                *content = ShardContent::Failed(fault);
                self.folder.lock_log();
                if !is_transient(fault) {
                    self.block();
                }
                Err(IndexError::LoadFailed(fault))
            }
        }
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

/// Returns the guard of a lock that a `try_` method took, or `None` if another thread holds it.
pub fn try_guard<G>(locked: TryLockResult<G>) -> Option<G> {
    match locked {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn estimate(shard: &EdgeShard) -> Result<usize, OperationError> {
    shard.count(CountRequest { filter: None, exact: false })
}

fn flush_and_estimate(shard: &EdgeShard) -> Result<usize, OperationError> {
    shard.flush()?;
    estimate(shard)
}
