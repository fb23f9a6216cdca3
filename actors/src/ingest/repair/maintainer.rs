//! Which of the services on one database maintains the index.
//!
//! The rows say what one index holds, and every service has an index of its own. Two that fill and compare theirs by the same
//! rows would each take the other's documents for lost, for ever. So the maintainer is the service that has a lock of the
//! database ([`SessionLock`]); the others leave the work that changes the index to it, and their own index as it is. When the lock
//! passes to another service, that one compares its index with the rows.

use std::sync::atomic::Ordering;
use std::time::Duration;

use database::{Db, SessionLock};
use search::index::AuditReason;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{IndexWatch, Suspicion, Watched};
use library::clock::Clock;
use errors::Error;
use crate::retrieval::{Completeness, Retrieval};
use crate::service_state::{self, ServiceStateKey};

/// A service that starts waits so long for the lock: the database may still have to notice that its last process ended.
const START_PATIENCE: Duration = Duration::from_secs(1);
/// Between two tries.
const START_RETRY: Duration = Duration::from_millis(100);

impl IndexWatch {
    /// Whether this service fills and repairs the index.
    #[must_use]
    pub fn is_maintainer(&self) -> bool {
        self.is_maintainer.load(Ordering::SeqCst)
    }

    /// Begins to maintain the index, where no other service does.
    pub(super) async fn begin_maintenance(
        &self,
        db: &Db,
        retrieval: &Retrieval,
        clock: &dyn Clock,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        while !db.hold_lock(SessionLock::Index).await? && begun.elapsed() < START_PATIENCE {
            tokio::time::sleep(START_RETRY).await;
        }
        let mut watched = self.watched.lock().await;
        self.maintain(db, retrieval, &mut watched, clock).await.map(drop)
    }

    /// Takes the maintenance of the index over where it is free; whether this service has it.
    pub(super) async fn maintain(
        &self,
        db: &Db,
        retrieval: &Retrieval,
        watched: &mut Watched,
        clock: &dyn Clock,
    ) -> Result<bool, Error> {
        let has_lock = self.hold_lock(db).await?;
        let was_elsewhere = retrieval.completeness() == Completeness::MaintainedElsewhere;
        if has_lock && !self.is_maintainer() {
            self.succeed(db, watched, clock).await?;
            self.assess(db, retrieval, watched, clock).await?;
            if was_elsewhere {
                info!("no other service maintains the passage index any more: this one does");
            }
        } else if !has_lock && !was_elsewhere {
            warn!(
                "another service on the database maintains the passage index: this one leaves its own as it is, and search here \
                 finds only what that holds; run one service on a database"
            );
            retrieval.set_completeness(Completeness::MaintainedElsewhere);
        }
        self.is_maintainer.store(has_lock, Ordering::SeqCst);
        Ok(has_lock)
    }

    /// Stops the maintenance if the lock was lost. A comparison takes minutes, and each of its steps asks whether this service still
    /// is the maintainer.
    pub(super) async fn check_lock(&self, db: &Db) -> Result<(), Error> {
        if self.is_maintainer() && !self.hold_lock(db).await? {
            self.is_maintainer.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// A lock that cannot be verified counts as lost: another service may have it by now.
    async fn hold_lock(&self, db: &Db) -> Result<bool, Error> {
        let held = db.hold_lock(SessionLock::Index).await;
        if held.is_err() {
            self.is_maintainer.store(false, Ordering::SeqCst);
        }
        Ok(held?)
    }

    /// From now on the rows speak of this index. One that another service maintained before knows nothing of the changes since.
    async fn succeed(&self, db: &Db, watched: &mut Watched, clock: &dyn Clock) -> Result<(), Error> {
        let own = self.folder.id().to_string();
        let last = service_state::read(db.read(), ServiceStateKey::IndexMaintainer).await?;
        if last.as_ref() == Some(&own) {
            return Ok(());
        }
        if last.is_some() {
            let suspicion =
                Suspicion::new(AuditReason::MaintainedElsewhere, watched.marker.as_ref(), clock.now());
            watched.suspicion = watched.suspicion.or(Some(suspicion));
            watched.marker = None;
        }
        if let Err(error) = self.note_succession(db, own, last.is_some()).await {
            // As on a full disk. The next start comes here again.
            warn!(cause = error.chain(), "could not note that this service maintains the passage index");
        }
        Ok(())
    }

    async fn note_succession(&self, db: &Db, own: String, is_outdated: bool) -> Result<(), Error> {
        if is_outdated {
            // Before the other fact: without its row the marker of the folder is doubted, should this process end before the
            // comparison has.
            service_state::forget(db.write(), ServiceStateKey::IndexMarker(self.folder.id())).await?;
        }
        Ok(service_state::write(db.write(), ServiceStateKey::IndexMaintainer, own).await?)
    }
}
