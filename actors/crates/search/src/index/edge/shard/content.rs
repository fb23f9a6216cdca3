//! What a shard has in memory, and how that is loaded.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use qdrant_edge::EdgeShard;
use tracing::warn;

use crate::index::edge::fault::classify;
use crate::index::edge::load::load_shard;
use crate::index::fault::EngineFault;
use crate::index::index_error::IndexError;
use crate::index::vector_model::VectorModel;

/// What a [`Shard`](super::Shard) has in memory.
pub enum ShardContent {
    /// The shard of the engine.
    Loaded(Box<EdgeShard>),
    /// Nothing: it was unloaded, because nothing used it.
    Unloaded {
        /// The estimate of the number of passages when it was unloaded. Nothing was written since.
        passages: usize,
    },
    /// Nothing: it could not be loaded.
    Failed(EngineFault),
}

impl ShardContent {
    /// Returns the shard of the engine. The caller has loaded it if it was unloaded.
    ///
    /// # Errors
    /// [`IndexError::LoadFailed`]; [`IndexError::Blocked`] if it is unloaded nevertheless.
    pub fn shard(&self) -> Result<&EdgeShard, IndexError> {
        match self {
            ShardContent::Loaded(shard) => Ok(shard),
            ShardContent::Unloaded { .. } => Err(IndexError::Blocked),
            ShardContent::Failed(fault) => Err(IndexError::LoadFailed(*fault)),
        }
    }
}

/// Loads the shard of a folder. A failure is logged; the error is its kind.
pub fn load_or_fault(folder: &Path, models: &[VectorModel]) -> Result<EdgeShard, EngineFault> {
    // The engine panics on some damage and returns an error on other.
    match catch_unwind(AssertUnwindSafe(|| load_shard(folder, models))) {
        Ok(Ok(shard)) => Ok(shard),
        Ok(Err(error)) => {
            warn!(%error, "the passage index could not be loaded again");
            Err(classify(&error))
        }
        Err(_panic) => {
            warn!("the engine of the passage index panicked when it was loaded again");
            Err(EngineFault::Damage)
        }
    }
}

/// Returns whether the cause of a failure lies outside of the files, so that it may have passed at the next attempt.
pub fn is_transient(fault: EngineFault) -> bool {
    match fault {
        EngineFault::Environment | EngineFault::NoSpace | EngineFault::DiskFailure => true,
        EngineFault::InvalidRequest | EngineFault::Damage => false,
    }
}
