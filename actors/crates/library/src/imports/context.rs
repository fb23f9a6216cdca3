//! The components that the jobs of imports and undos work with.

use std::sync::Arc;

use jobs::JobSignal;
use sandbox::Sandbox;
use storage::blobs::BlobStore;
use web::Guard;

use crate::context::CoreContext;

/// The components that imports and their undos need. Clones share everything.
#[derive(Clone)]
pub struct ImportContext {
    /// Database, clock, plans and worker threads.
    pub core: CoreContext,
    /// Decides which URLs may be fetched.
    pub guard: Guard,
    /// The store of the imported files, and of the files inside them.
    pub store: Arc<dyn BlobStore>,
    /// Reads files in child processes.
    pub sandbox: Sandbox,
    /// Wakes the workers after the commit of a batch that enqueued jobs.
    pub job_signal: JobSignal,
}
