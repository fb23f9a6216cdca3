//! What background work needs.

use std::sync::Arc;

use disk::DiskSpace;
use jobs::{JobSignal, LeaseOwner};
use library::context::CoreContext;
use library::exports::ExportContext;
use library::imports::ImportContext;
use library::uploads::Uploads;
use storage::mail::Mailer;

use crate::idempotency::Idempotency;
use crate::ingest::extraction_context::ExtractionContext;
use crate::ingest::feed::context::FeedContext;
use crate::ingest::indexing_context::IndexingContext;
use crate::ingest::repair::{IndexWatch, RepairContext};
use crate::operations::ask::AskContext;
use crate::retrieval::Retrieval;

/// The components that the worker, its handlers and its maintenance tasks need. Each handler gets the
/// context of its group, and nothing else.
///
/// All of it is built from [`CoreContext::for_jobs`], so background work has separate database connections on PostgreSQL:
/// jobs that wait for locks leave requests their connections, and the other way round.
#[derive(Clone)]
pub struct WorkerContext {
    /// The database, the clock and the plans, from [`CoreContext::for_jobs`].
    pub core: CoreContext,
    /// The owner under which this process claims jobs.
    pub lease_owner: LeaseOwner,
    /// Wakes the worker when a job may be due.
    pub job_signal: JobSignal,
    /// The free space of the disks, below whose floor only jobs that delete are claimed.
    pub disk: DiskSpace,
    /// What the handlers of pages, texts, files and recordings work with.
    pub extraction: ExtractionContext,
    /// What the handlers that change the index work with.
    pub indexing: IndexingContext,
    /// What the handlers of feeds work with.
    pub feeds: FeedContext,
    /// What the repair of the index works with.
    pub repair: RepairContext,
    /// Whether this server maintains the index of the database.
    pub index_watch: Arc<IndexWatch>,
    /// What the handler of imports works with.
    pub imports: ImportContext,
    /// What the handler of exports works with.
    pub exports: ExportContext,
    /// What the handler of questions works with.
    pub asking: AskContext,
    /// Sends e-mails; `None` if none is configured.
    pub mail: Option<Arc<Mailer>>,
    /// Stored responses of idempotent requests, whose clean-up is a maintenance task.
    pub idempotency: Idempotency,
    /// Stored files, whose clean-up is a maintenance task.
    pub uploads: Uploads,
    /// The passage index, for its maintenance and for the removal of documents.
    pub retrieval: Retrieval,
}
