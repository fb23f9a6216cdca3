//! What the job of an export needs.

use std::sync::Arc;

use disk::{DiskSpace, Scratch};
use storage::blobs::BlobStore;

use crate::context::CoreContext;

/// The context of export jobs. Clones share everything.
#[derive(Clone)]
pub struct ExportContext {
    /// The database, the clock and the plans.
    pub core: CoreContext,
    /// The store that holds uploaded files and receives the archive.
    pub store: Arc<dyn BlobStore>,
    /// Folder in which the archive is packed.
    pub scratch: Scratch,
    /// Free space of the disks.
    pub disk: DiskSpace,
}

/// Rows that are read by one statement.
pub(super) const BATCH_ROWS: u64 = 200;
