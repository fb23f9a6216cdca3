//! Which of the servers on one database maintains the index.
//!
//! The rows describe one index, and every server has a separate index. If two servers filled and compared theirs by the same
//! rows, each would repeatedly count the documents of the other as lost. So only the server that holds a lock of the
//! database ([`SessionLock`]) maintains its index; the others run no job that changes the index, and leave theirs as it is.
//! When the lock passes to another server, that server compares its index with the rows. Servers that share an index on a Qdrant server
//! all run jobs; the one with the lock compares and counts.

use std::sync::atomic::Ordering;
use std::time::Duration;

use database::{Db, SessionLock};
use errors::Error;
use library::clock::Clock;
use search::index::AuditReason;
use tokio::time::Instant;
use tracing::{info, warn};

use super::watch::{AuditRequest, IndexWatch, WatchState};
use crate::retrieval::{Completeness, Retrieval};
use crate::service_state::{self, ServiceStateKey};

/// Time for which a server that starts, or a command, waits for the lock: the database may not have noticed yet that its last process ended.
const START_LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay between two attempts to take the lock at the start.
const START_LOCK_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Takes the lock of the maintenance, for which it waits a moment. Returns whether it has it.
pub(super) async fn wait_for_lock(db: &Db) -> Result<bool, Error> {
    let started = Instant::now();
    loop {
        let has_lock = db.hold_lock(SessionLock::Index).await?;
        if has_lock || started.elapsed() >= START_LOCK_TIMEOUT {
            return Ok(has_lock);
        }
        tokio::time::sleep(START_LOCK_RETRY_DELAY).await;
    }
}

impl IndexWatch {
    /// Begins to maintain the index, unless another server does.
    pub(super) async fn begin_maintenance(
        &self,
        db: &Db,
        retrieval: &Retrieval,
        clock: &dyn Clock,
    ) -> Result<(), Error> {
        wait_for_lock(db).await?;
        let mut state = self.state.lock().await;
        self.maintain(db, retrieval, &mut state, clock).await.map(drop)
    }

    /// Takes over the maintenance of the index if no server does it. Returns whether this server maintains the index.
    pub(super) async fn maintain(
        &self,
        db: &Db,
        retrieval: &Retrieval,
        state: &mut WatchState,
        clock: &dyn Clock,
    ) -> Result<bool, Error> {
        let has_lock = self.hold_lock(db).await?;
        let was_elsewhere = retrieval.engine().completeness() == Completeness::MaintainedElsewhere;
        if !has_lock && self.is_shared() {
            state.shared.was_follower = true;
        } else if has_lock && !self.is_maintainer() {
            if state.shared.was_follower {
                self.succeed_follower(db, state).await?;
            }
            self.become_successor(db, state, clock).await?;
            self.assess(db, retrieval, state, clock).await?;
            if was_elsewhere {
                info!("took over the maintenance of the passage index from another server");
            }
        } else if !has_lock && !retrieval.engine().has_index() {
            retrieval.engine().set_completeness(Completeness::Unavailable);
        } else if !has_lock && !was_elsewhere {
            warn!(
                "another server on the database maintains its passage index: the index of this server is not updated, so search \
                 here is incomplete; run only one server on a database"
            );
            retrieval.engine().set_completeness(Completeness::MaintainedElsewhere);
        }
        self.is_maintainer.store(has_lock, Ordering::SeqCst);
        Ok(has_lock)
    }

    /// Stops the maintenance if the lock was lost. A comparison takes minutes, and each of its steps checks
    /// whether this server still is the maintainer.
    pub(super) async fn check_lock(&self, db: &Db) -> Result<(), Error> {
        if self.is_maintainer() && !self.hold_lock(db).await? {
            self.is_maintainer.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Acquires the lock, or verifies that it is held. A lock that cannot be verified counts as lost:
    /// another server may hold it by now.
    async fn hold_lock(&self, db: &Db) -> Result<bool, Error> {
        let held = db.hold_lock(SessionLock::Index).await;
        if held.is_err() {
            self.is_maintainer.store(false, Ordering::SeqCst);
        }
        Ok(held?)
    }

    /// Records that the rows describe this index from now on. If another server maintained its own
    /// before, this index lacks the changes since.
    async fn become_successor(
        &self,
        db: &Db,
        state: &mut WatchState,
        clock: &dyn Clock,
    ) -> Result<(), Error> {
        let own = self.store.id().to_string();
        let last = service_state::read_state(db.read(), ServiceStateKey::IndexMaintainer).await?;
        if last.as_ref() == Some(&own) {
            return Ok(());
        }
        if last.is_some() {
            let audit_request =
                AuditRequest::new(AuditReason::MaintainedElsewhere, state.marker.as_ref(), clock.now());
            state.audit_request = state.audit_request.or(Some(audit_request));
            state.marker = None;
        }
        if let Err(error) = self.record_succession(db, own, last.is_some()).await {
            // As on a full disk. The next start tries again.
            warn!(cause = error.chain(), "could not record that this server maintains the passage index");
        }
        Ok(())
    }

    async fn record_succession(&self, db: &Db, own: String, is_outdated: bool) -> Result<(), Error> {
        if is_outdated {
            // Before the other key: without its row the marker of the folder is suspicious, so the index is compared even if this
            // process ends before it has done so.
            service_state::forget(db.write(), ServiceStateKey::IndexMarker(self.store.id())).await?;
        }
        Ok(service_state::write(db.write(), ServiceStateKey::IndexMaintainer, own).await?)
    }
}
