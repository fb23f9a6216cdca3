//! Ingest: from an address or given content to passages that are found.
//!
//! The intent is a row ([`queue`]), written in the transaction that made it necessary; the actor claims due rows, runs
//! each in a task of its own under a lease, and moves it on. Every step may run twice: a text comes in as a new version of
//! its document in one transaction, and passages are points of the index under their own ids.

mod actor;
pub mod again;
mod attempt;
pub mod feed;
mod file;
mod forget;
mod index;
mod magic;
pub(crate) mod marks;
pub mod media;
pub mod model;
mod page;
pub mod pdf;
pub mod places;
pub mod queue;
pub mod repair;
mod store;
mod sweep;
mod unread;

use std::time::Duration;

use actix::ArbiterHandle;
use runtime::{Port, SupervisorConfig, supervise};

use crate::ingest::context::IngestContext;
use actor::{IngestActor, Wake};

pub use actor::Room;
pub use attempt::JobError;
pub use store::{Split, Text, put_text};
pub(crate) use unread::unread;

/// The way to the background work.
#[derive(Clone)]
pub struct Ingest {
    port: Port<IngestActor>,
}

impl Ingest {
    /// Starts the actor. `app` is asked for at each life, for the actor is itself a part of it.
    pub fn start(
        on: &ArbiterHandle,
        app: impl Fn() -> Option<IngestContext> + Clone + Send + 'static,
        room: Room,
    ) -> Self {
        let config = SupervisorConfig { name: "ingest", permits: 16, timeout: Duration::from_secs(40) };
        Self { port: supervise(on, config, move || IngestActor::new(ctx.clone(), room)) }
    }

    /// There may be something due.
    pub fn wake(&self) {
        self.port.tell(Wake);
    }

    /// Puts running jobs back and takes no more.
    pub async fn stop(&self) {
        if self.port.ask(actor::Stop).await.is_err() {
            tracing::warn!("could not put the running jobs back; their leases will end");
        }
    }

    /// The actor's port, for health and for draining.
    pub fn port(&self) -> &Port<IngestActor> {
        &self.port
    }
}
