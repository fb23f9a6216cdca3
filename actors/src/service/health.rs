//! How the service is doing: its actors, its database, and whether writes are kept.

use std::time::Duration;

use disk::SpaceLevel;
use errors::{Error, StorageFailure};
use runtime::{Health, HealthReport};
use tracing::error;

use super::Service;
use crate::service_state::{self, ServiceStateKey};

/// A test write may wait this long for its turn at the writer.
const STORAGE_CHECK_TIMEOUT: Duration = Duration::from_secs(6);
/// A database that takes longer to answer counts as unreachable.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

/// The result of a test write to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageState {
    /// It was written and read back.
    Ok,
    /// The writer was busy with other work for all of the time.
    Busy,
    /// A disk is full or below its floor: writes are refused, reads continue.
    Full,
    /// The database is damaged and being verified: writes are stopped, reads continue as far as they can.
    Damaged,
    /// A file of the database was removed, moved or replaced: writes are stopped, reads continue from the open file.
    Removed,
    /// It was refused, or acknowledged and not kept.
    Failed,
}

impl Service {
    /// Returns how each actor is doing.
    pub fn health(&self) -> Vec<HealthReport> {
        let ctx = &self.context;
        let all: [&Health; 7] = [
            ctx.keys.port().health(),
            ctx.grants.port().health(),
            ctx.limits.port().health(),
            ctx.activity.port().health(),
            ctx.notices.port().health(),
            ctx.retrieval.port().health(),
            self.worker.port().health(),
        ];
        all.into_iter().map(Health::report).collect()
    }

    /// Checks by a test write whether writes are kept. One check runs at a time. The write is made on a full disk too, so that a writer that fails for another
    /// reason is reported as failed.
    pub async fn check_storage(&self) -> StorageState {
        let db = &self.context.core.db;
        if !db.health().are_files_in_place() {
            return StorageState::Removed;
        }
        if db.health().is_damaged() {
            return StorageState::Damaged;
        }
        let has_space = self.context.disk.level() == SpaceLevel::AboveFloor;
        let check = service_state::check_round_trip(db, self.process);
        match tokio::time::timeout(STORAGE_CHECK_TIMEOUT, check).await {
            Ok(Ok(())) if has_space => StorageState::Ok,
            Ok(Ok(()) | Err(Error::StorageFull)) => StorageState::Full,
            Ok(Err(Error::StorageFailed(StorageFailure::Damaged))) => StorageState::Damaged,
            Ok(Err(Error::StorageFailed(StorageFailure::Removed))) => StorageState::Removed,
            Ok(Err(Error::Busy(_))) | Err(_) => StorageState::Busy,
            Ok(Err(error)) => {
                error!(cause = error.chain(), "a test write to the database failed");
                StorageState::Failed
            }
        }
    }

    /// Returns whether the database answers a query in time.
    pub async fn is_database_reachable(&self) -> bool {
        let read = service_state::read(self.context.core.db.read(), ServiceStateKey::Generation);
        tokio::time::timeout(DATABASE_TIMEOUT, read).await.is_ok_and(|read| read.is_ok())
    }
}
