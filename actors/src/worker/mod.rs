//! Background work: claims due jobs of the queue ([`jobs`]), runs their handlers and the maintenance tasks.
//!
//! The table of handlers is the module `handlers`. A job is an intent that was written in the transaction that made it
//! necessary; a step may run twice. The worker wakes up when a [`jobs::JobSignal`] is sent and at an interval.

mod actor;
mod attempt;
mod batch;
mod clean_up;
mod context;
mod due;
mod email;
mod handlers;
mod leases;
mod maintenance_task;
mod running;
mod title_merge;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use runtime::{Port, SupervisorConfig, supervise};
use tracing::warn;

use actor::{Stop, WorkerActor};

pub use context::WorkerContext;
pub use running::ConcurrencyLimits;

/// The handle of the worker. Clones are cheap.
#[derive(Clone)]
pub struct Worker {
    port: Port<WorkerActor>,
}

impl Worker {
    /// Starts the actor. It claims jobs from then on.
    pub fn start(on: &ArbiterHandle, ctx: WorkerContext, limits: ConcurrencyLimits) -> Self {
        // The name is public: /readyz and the metrics report it. The only question is `Stop`, whose answer takes 5 seconds at most.
        let config = SupervisorConfig { name: "ingest", permits: 16, timeout: Duration::from_secs(8) };
        let ctx = Arc::new(ctx);
        let port = supervise(on, config, move || WorkerActor::new(ctx.clone(), limits));
        Self { port }
    }

    /// Releases the running jobs and claims no more. Takes 8 seconds at most.
    pub async fn stop(&self) {
        if self.port.ask(Stop).await.is_err() {
            warn!("could not release the running jobs; they are due again when their leases expire");
        }
    }

    /// Returns the port of the actor, for health and for draining.
    pub fn port(&self) -> &Port<WorkerActor> {
        &self.port
    }
}
