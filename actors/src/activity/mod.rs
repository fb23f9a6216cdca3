//! The activity: one line for each request, without its content and its response (spec.md: Privacy rules). Lines are written together with
//! the last uses of keys and grants, and with the counts of the day.

mod actor;
mod batch;
mod lines;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use disk::DiskSpace;
use errors::Error;
use governor::Quota;
use library::clock::Clock;
use runtime::{HealthReport, Port, SupervisorConfig, supervise};
use values::id::UserId;

use crate::auth::limits::RateLimits;
use crate::ledger::{Ledger, LedgerEntry};
use crate::throttle::KeyedThrottle;
use crate::write_behind::Flush;
use actor::ActivityActor;

pub use lines::insert_lines;

/// Number of calls outside the limits that are recorded at once for a user; then one a minute is.
const MAX_UNCOUNTED_LINES_AT_ONCE: u32 = 60;

/// The handle of the activity. Clones are cheap.
#[derive(Clone)]
pub struct Activity {
    ledger: Arc<Ledger>,
    port: Port<ActivityActor>,
    uncounted: Arc<KeyedThrottle<UserId>>,
    retention: Duration,
}

impl Activity {
    /// Starts the actor, which writes the entries of the ledger, and with them the counts of `limits`. It removes lines older than
    /// `retention`, at the start and then every hour.
    pub fn start(
        on: &ArbiterHandle,
        db: Db,
        clock: Arc<dyn Clock>,
        retention: Duration,
        disk: DiskSpace,
        ledger: Arc<Ledger>,
        limits: RateLimits,
    ) -> Self {
        let config = SupervisorConfig { name: "activity", permits: 4096, timeout: Duration::from_secs(8) };
        let actor_ledger = ledger.clone();
        let begin = move || {
            let (ledger, limits) = (actor_ledger.clone(), limits.clone());
            ActivityActor::new(db.clone(), clock.clone(), retention, disk.clone(), ledger, limits)
        };
        let uncounted = KeyedThrottle::new(Quota::per_minute(NonZeroU32::MIN), MAX_UNCOUNTED_LINES_AT_ONCE);
        Self { ledger, port: supervise(on, config, begin), uncounted: Arc::new(uncounted), retention }
    }

    /// Records a request. If there is no room for more that are not written yet ([`Ledger`]), it is dropped and counted
    /// ([`Self::health`]).
    pub fn record(&self, entry: LedgerEntry) {
        self.ledger.push(entry);
    }

    /// Records a request that counted in no limit, such as one that is refused because a limit is reached. No limit bounds their
    /// number, so that a client could fill the disk with their lines: of many, one a minute gets a line, and the others only the use of
    /// their credential.
    pub fn record_uncounted(&self, entry: LedgerEntry) {
        let has_line = self.uncounted.try_acquire(&entry.user);
        self.record(if has_line { entry } else { LedgerEntry { call: None, ..entry } });
    }

    /// Returns the time for which lines are kept.
    pub fn retention(&self) -> Duration {
        self.retention
    }

    /// Writes all that is recorded so far, also below the floor of a disk.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time or is being restarted; [`Error::Internal`] when it crashes.
    pub async fn flush(&self) -> Result<(), Error> {
        self.port.ask(Flush).await?
    }

    /// Returns the port of the actor, for draining.
    pub fn port(&self) -> &Port<ActivityActor> {
        &self.port
    }

    /// Returns how the actor is doing. Records that were dropped count as refused.
    pub fn health(&self) -> HealthReport {
        let report = self.port.health().report();
        HealthReport { refused: report.refused.saturating_add(self.ledger.dropped_entries()), ..report }
    }
}
