//! Where uploaded files are stored, and how they get there.

use std::sync::Arc;
use std::time::Duration;

use disk::Scratch;
use storage::blobs::BlobStore;

use super::receive_locks::ReceiveLocks;
use super::receive_slots::ReceiveSlots;
use super::url_signer::UrlSigner;

/// Where uploaded files are stored, and how they get there. Clones share everything.
#[derive(Clone)]
pub struct Uploads {
    /// The store that holds the files: a folder, or a bucket to which clients send their bytes directly.
    pub store: Arc<dyn BlobStore>,
    /// Folder for temporary files, such as bodies of requests and pages that are fetched.
    pub scratch: Scratch,
    /// Signs the upload URLs of this server. A bucket signs its own.
    pub url_signer: UrlSigner,
    /// Lifetime of an upload URL (`uploads.put_seconds`).
    pub put_url_lifetime: Duration,
    /// Maximum length of the file of an import, in bytes (`uploads.import_bytes`).
    pub import_bytes: u64,
    /// Locks of the uploads that receive bytes.
    pub receive_locks: ReceiveLocks,
    /// Bounds how many uploads of an account receive bytes at the same time.
    pub receive_slots: ReceiveSlots,
}
