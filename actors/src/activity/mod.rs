//! The activity view: every call, and nothing of what was asked or read (spec.md: Privacy rules).

mod actor;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use disk::DiskSpace;
use entity::activity;
use runtime::{Flush, Port, SupervisorConfig, supervise};

use library::clock::Clock;
use errors::Error;
use actor::{ActivityActor, Record};

/// The way to the activity.
#[derive(Clone)]
pub struct Activity {
    port: Port<ActivityActor>,
}

impl Activity {
    /// Starts the actor; lines older than `kept` are removed, at the start and then now and again.
    pub fn start(on: &ArbiterHandle, db: Db, clock: Arc<dyn Clock>, kept: Duration, disk: DiskSpace) -> Self {
        let config = SupervisorConfig { name: "activity", permits: 4096, timeout: Duration::from_secs(8) };
        let begin = move || ActivityActor::new(db.clone(), clock.clone(), kept, disk.clone());
        Self { port: supervise(on, config, begin) }
    }

    /// Notes a call. Where there is no room the line is lost and counted.
    pub fn record(&self, line: activity::Model) {
        self.port.tell(Record(line));
    }

    /// Writes what was noted.
    pub async fn flush(&self) -> Result<(), Error> {
        self.port.ask(Flush::default()).await?
    }

    /// The actor's port, for health and for draining.
    pub fn port(&self) -> &Port<ActivityActor> {
        &self.port
    }
}
