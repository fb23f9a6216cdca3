//! The running server: starts every actor with what it needs, reports how they are doing, and ends them in order.
//!
//! [`Service::start`] builds from the bottom up: the handles of the actors, the adapters to the outside, the contexts of background
//! work and [of operations](crate::context), and the [worker](crate::worker). Nothing is started before what it uses.

mod adapters;
mod config;
mod drain;
mod health;
mod start;

use actix::ArbiterHandle;
use inference::transcriber::SpeechService;
use jobs::LeaseOwner;
use values::id::UserId;

use crate::context::OperationContext;
use crate::ingest::indexing_context::IndexingContext;
use crate::ingest::repair::RepairContext;
use crate::notices::Notices;
use crate::worker::Worker;

pub use adapters::wall_clock;
pub use config::{AdapterConfig, OperationSettings, ServiceConfig, scratch_folder};
pub use health::{StorageErrorLog, StorageState};

/// A running server. Clones share it.
#[derive(Clone)]
pub struct Service {
    /// The context of operations, for the surfaces.
    pub context: OperationContext,
    /// The worker, which claims and runs background jobs.
    pub worker: Worker,
    /// Indexing, for the models that are loaded while the server runs.
    pub indexing: IndexingContext,
    /// Repair of the index, which the drain uses to close it.
    pub repair: RepairContext,
    /// In-app notices, which are also sent by e-mail.
    pub notices: Notices,
    /// The service that transcribes recordings, in turns between users.
    pub speech: SpeechService<UserId>,
    /// The name of this process in the database.
    process: LeaseOwner,
    arbiters: [ArbiterHandle; 2],
}
