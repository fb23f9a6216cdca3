//! How the server is doing: its actors, its database, and whether writes are kept.

use std::time::{Duration, Instant};

use disk::SpaceLevel;
use errors::{Error, StorageFailure};
use runtime::HealthReport;
use tracing::{error, info};

use super::Service;
use crate::service_state::{self, ServiceStateKey};

/// A test write may wait this long for its turn at the writer.
const STORAGE_CHECK_TIMEOUT: Duration = Duration::from_secs(6);
/// While test writes fail, one failure is logged in this time.
const FAILURE_LOG_INTERVAL: Duration = Duration::from_secs(600);
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

/// Decides which failed test writes are logged: the first one after another state, and then one in ten minutes. A busy writer is not
/// another state, because it says nothing about the storage.
#[derive(Debug, Default)]
pub struct StorageErrorLog {
    /// The time of the last failure that was logged; `None` while test writes do not fail.
    logged_at: Option<Instant>,
}

impl StorageErrorLog {
    /// Records a failure. Returns whether it is to be logged.
    fn record_failure(&mut self, now: Instant) -> bool {
        let is_due = self.logged_at.is_none_or(|at| now.duration_since(at) >= FAILURE_LOG_INTERVAL);
        if is_due {
            self.logged_at = Some(now);
        }
        is_due
    }

    /// Records any other state. Returns whether it ends a failure.
    fn record_state(&mut self, state: StorageState) -> bool {
        state != StorageState::Busy && self.logged_at.take().is_some()
    }
}

impl Service {
    /// Returns how each actor is doing.
    pub fn health(&self) -> Vec<HealthReport> {
        let ctx = &self.context;
        vec![
            ctx.auth.keys.port().health().report(),
            ctx.auth.grants.port().health().report(),
            ctx.auth.limits.port().health().report(),
            ctx.requests.activity.health(),
            self.notices.port().health().report(),
            ctx.retrieval.port().health().report(),
            self.worker.port().health().report(),
        ]
    }

    /// Checks by a test write whether writes are kept, and logs a failure if `log` has it due. One check runs at a time. The write is
    /// made on a full disk too, so that a writer that fails for another reason is reported as failed.
    pub async fn check_storage(&self, log: &mut StorageErrorLog) -> StorageState {
        match self.write_test_row().await {
            Ok(state) => {
                if log.record_state(state) {
                    info!(?state, "test writes to the database succeed again");
                }
                state
            }
            Err(error) => {
                if log.record_failure(Instant::now()) {
                    error!(cause = error.chain(), "a test write to the database failed");
                }
                StorageState::Failed
            }
        }
    }

    /// Makes a test write; an error counts as [`StorageState::Failed`].
    async fn write_test_row(&self) -> Result<StorageState, Error> {
        let db = &self.context.core.db;
        if !db.health().are_files_in_place() {
            return Ok(StorageState::Removed);
        }
        if db.health().is_damaged() {
            return Ok(StorageState::Damaged);
        }
        let has_space = self.context.disk.level() == SpaceLevel::AboveFloor;
        let check = service_state::check_round_trip(db, self.process);
        match tokio::time::timeout(STORAGE_CHECK_TIMEOUT, check).await {
            Ok(Ok(())) if has_space => Ok(StorageState::Ok),
            Ok(Ok(()) | Err(Error::StorageFull)) => Ok(StorageState::Full),
            Ok(Err(Error::StorageFailed(StorageFailure::Damaged))) => Ok(StorageState::Damaged),
            Ok(Err(Error::StorageFailed(StorageFailure::Removed))) => Ok(StorageState::Removed),
            Ok(Err(Error::Busy(_))) | Err(_) => Ok(StorageState::Busy),
            Ok(Err(error)) => Err(error),
        }
    }

    /// Returns whether the database answers a query in time.
    pub async fn is_database_reachable(&self) -> bool {
        let read = service_state::read_state(self.context.core.db.read(), ServiceStateKey::Generation);
        tokio::time::timeout(DATABASE_TIMEOUT, read).await.is_ok_and(|read| read.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lasting_failure_is_logged_once_in_ten_minutes() {
        let (mut log, start) = (StorageErrorLog::default(), Instant::now());

        assert!(log.record_failure(start));
        for seconds in (3..600).step_by(3) {
            assert!(!log.record_failure(start + Duration::from_secs(seconds)));
            assert!(!log.record_state(StorageState::Busy));
        }
        assert!(log.record_failure(start + FAILURE_LOG_INTERVAL));
    }

    #[test]
    fn failure_after_another_state_is_logged() {
        let (mut log, start) = (StorageErrorLog::default(), Instant::now());
        assert!(!log.record_state(StorageState::Ok));
        assert!(log.record_failure(start));

        assert!(log.record_state(StorageState::Ok) && !log.record_state(StorageState::Ok));
        assert!(log.record_failure(start + Duration::from_secs(3)));
    }
}
