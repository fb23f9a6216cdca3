//! The running service: starts every actor with what it needs, reports how they are doing, and ends them in order.
//!
//! [`Service::start`] builds from the bottom up: the handles of the actors, then the contexts of background work, then the
//! [worker](crate::worker) that runs it, and the [context of operations](crate::context) beside it. Nothing is started before what
//! it uses.

mod config;
mod drain;
mod health;
mod start;

use actix::ArbiterHandle;
use jobs::LeaseOwner;

use crate::context::OperationContext;
use crate::ingest::indexing::IndexingContext;
use crate::ingest::repair::RepairContext;
use crate::worker::Worker;

pub use config::{ServiceConfig, index_folder, scratch_folder};
pub use health::{StorageErrorLog, StorageState};

/// A running service. Clones share it.
#[derive(Clone)]
pub struct Service {
    /// The context of operations, for the surfaces.
    pub context: OperationContext,
    /// Background jobs.
    pub worker: Worker,
    /// Indexing, for the models that are loaded while the service runs.
    pub indexing: IndexingContext,
    /// Repair of the index.
    pub repair: RepairContext,
    /// The name of this process in the database.
    process: LeaseOwner,
    arbiters: [ArbiterHandle; 2],
}
