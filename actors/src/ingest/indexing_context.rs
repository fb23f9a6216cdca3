//! The context of the stages that change the index: `index`, `index_removal` and the loading of the embedding model.

use jobs::JobSignal;
use library::context::CoreContext;

use crate::retrieval::Retrieval;

/// The components that put passages into the index and take them out. Clones share them.
#[derive(Clone)]
pub struct IndexingContext {
    /// Rows, the clock and the lanes of blocking work.
    pub core: CoreContext,
    /// The index, and the model that embeds passages.
    pub retrieval: Retrieval,
    /// Tells the worker that a job may be due.
    pub job_signal: JobSignal,
}
