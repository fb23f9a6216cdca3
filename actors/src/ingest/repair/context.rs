//! The context of the repair of the index.

use std::sync::Arc;

use disk::DiskSpace;
use jobs::JobSignal;
use library::context::CoreContext;

use super::watch::IndexWatch;
use crate::retrieval::Retrieval;

/// The components that compare the index with the database and repair it. Clones share them.
#[derive(Clone)]
pub struct RepairContext {
    /// The rows that say what the index is to hold, and the clock.
    pub core: CoreContext,
    /// The index that is watched and repaired.
    pub retrieval: Retrieval,
    /// What the checks of the index remember from one to the next.
    pub index_watch: Arc<IndexWatch>,
    /// The free-space floor. Below it the index is not repaired.
    pub disk: DiskSpace,
    /// Tells the worker that a job may be due.
    pub job_signal: JobSignal,
}

impl RepairContext {
    /// Returns whether this server may add to the index now: it maintains and reaches it, and there is space.
    pub(in crate::ingest) fn may_change_index(&self) -> bool {
        self.index_watch.can_maintain() && self.disk.has_room() && self.retrieval.engine().has_index()
    }
}
