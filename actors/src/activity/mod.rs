//! The activity: one line for each request, without its content and its response (spec.md: Privacy rules).

mod actor;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use disk::DiskSpace;
use entity::activity;
use errors::Error;
use library::clock::Clock;
use runtime::{Port, SupervisorConfig, supervise};

use crate::write_behind::Flush;
use actor::{ActivityActor, Record};

/// The handle of the activity. Clones are cheap.
#[derive(Clone)]
pub struct Activity {
    port: Port<ActivityActor>,
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
        Self { port: supervise(on, config, begin) }
    }

    /// Records a request. If the mailbox of the actor is full, the line is dropped and counted.
    pub fn record(&self, line: activity::Model) {
        self.port.tell(Record(line));
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
