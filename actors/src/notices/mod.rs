//! In-app notices: one at the first use of a key, one each time an app connects (spec.md: Events). Each is also sent
//! by e-mail.

mod actor;
mod rows;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use errors::Error;
use library::clock::Clock;
use runtime::{Port, SupervisorConfig, supervise};

use crate::write_behind::Flush;
use actor::NoticeActor;

pub use actor::FirstUse;
pub(crate) use rows::app_connected;

/// The handle of the notices. Clones are cheap.
#[derive(Clone)]
pub struct Notices {
    port: Port<NoticeActor>,
}

impl Notices {
    /// Starts the actor on this arbiter; its supervisor restarts it after a crash.
    pub fn start(on: &ArbiterHandle, db: Db, clock: Arc<dyn Clock>) -> Self {
        let config = SupervisorConfig { name: "notices", permits: 256, timeout: Duration::from_secs(8) };
        Self { port: supervise(on, config, move || NoticeActor::new(db.clone(), clock.clone())) }
    }

    /// Writes the notice about the first use of a key, unless it was written before.
    ///
    /// # Errors
    /// [`Error`] when it is not written; call this again at the next use of the key.
    pub async fn first_use(&self, first: FirstUse) -> Result<(), Error> {
        self.port.ask(first).await?
    }

    /// Waits until all earlier notices are written.
    pub async fn flush(&self) {
        if self.port.ask(Flush).await.is_err() {
            tracing::warn!("could not wait until the notices were written");
        }
    }

    /// Returns the port of the actor, for health and for draining.
    pub fn port(&self) -> &Port<NoticeActor> {
        &self.port
    }
}
