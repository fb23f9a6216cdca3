//! In-app notices: one the first time a key is used, one each time an application connects (spec.md: Events). Each is
//! told by a letter too.

mod actor;
mod connected;
pub(crate) mod letter;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use runtime::{Port, SupervisorConfig, supervise};

use library::clock::Clock;
use errors::Error;
use actor::NoticeActor;

pub use actor::FirstUse;
pub(crate) use connected::app_connected;

/// The way to the notices.
#[derive(Clone)]
pub struct Notices {
    port: Port<NoticeActor>,
}

impl Notices {
    /// Starts the actor.
    pub fn start(on: &ArbiterHandle, db: Db, clock: Arc<dyn Clock>) -> Self {
        let config = SupervisorConfig { name: "notices", permits: 256, timeout: Duration::from_secs(8) };
        Self { port: supervise(on, config, move || NoticeActor::new(db.clone(), clock.clone())) }
    }

    /// Tells of a first use; once this returns well, it is written down.
    ///
    /// # Errors
    /// It is not written: it is to be told again at the next use.
    pub async fn first_use(&self, first: FirstUse) -> Result<(), Error> {
        self.port.ask(first).await?
    }

    /// Waits until everything told before has been written.
    pub async fn flush(&self) {
        if self.port.ask(actor::Flush).await.is_err() {
            tracing::warn!("could not wait for the notices");
        }
    }

    /// The actor's port, for health and for draining.
    pub fn port(&self) -> &Port<NoticeActor> {
        &self.port
    }
}
