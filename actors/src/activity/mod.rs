//! The activity: one line for each request, without its content and its response (spec.md: Privacy rules).

mod actor;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use disk::DiskSpace;
use entity::activity;
use errors::Error;
use governor::Quota;
use library::clock::Clock;
use runtime::{Port, SupervisorConfig, supervise};
use values::id::UserId;

use crate::throttle::KeyedThrottle;
use crate::write_behind::Flush;
use actor::{ActivityActor, Record};

/// Number of calls outside the limits that are recorded at once for a user; then one a minute is.
const MAX_UNCOUNTED_LINES_AT_ONCE: u32 = 60;

/// The handle of the activity. Clones are cheap.
#[derive(Clone)]
pub struct Activity {
    port: Port<ActivityActor>,
    uncounted: Arc<KeyedThrottle<UserId>>,
}

impl Activity {
    /// Starts the actor. It removes lines older than `retention`, at the start and then every hour.
    pub fn start(
        on: &ArbiterHandle,
        db: Db,
        clock: Arc<dyn Clock>,
        retention: Duration,
        disk: DiskSpace,
    ) -> Self {
        let config = SupervisorConfig { name: "activity", permits: 4096, timeout: Duration::from_secs(8) };
        let begin = move || ActivityActor::new(db.clone(), clock.clone(), retention, disk.clone());
        let uncounted = KeyedThrottle::new(Quota::per_minute(NonZeroU32::MIN), MAX_UNCOUNTED_LINES_AT_ONCE);
        Self { port: supervise(on, config, begin), uncounted: Arc::new(uncounted) }
    }

    /// Records a request. If the mailbox of the actor is full, the line is dropped and counted.
    pub fn record(&self, line: activity::Model) {
        self.port.tell(Record(line));
    }

    /// Records a request that counted in no limit, such as one that is refused because a limit is reached. No limit bounds their
    /// number, so that a client could fill the disk with their lines: many are recorded only once a minute.
    pub fn record_uncounted(&self, line: activity::Model) {
        if self.uncounted.try_acquire(&line.user_id) {
            self.record(line);
        }
    }

    /// Writes all lines that are recorded so far, also below the floor of a disk.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time or is being restarted; [`Error::Internal`] when it crashes.
    pub async fn flush(&self) -> Result<(), Error> {
        self.port.ask(Flush).await?
    }

    /// Returns the port of the actor, for health and for draining.
    pub fn port(&self) -> &Port<ActivityActor> {
        &self.port
    }
}
