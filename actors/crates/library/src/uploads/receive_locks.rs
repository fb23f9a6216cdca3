//! One request at a time writes the bytes of an upload, so that the store never holds more than the announced file and the one
//! that it replaces. The newest request wins: a client that sends the file again has abandoned its last connection, even if the
//! service has not noticed that yet. In that this differs from [`runtime::KeyedMutex`], which it adds to.

use std::sync::{Arc, Mutex, PoisonError};

use entity::id::UploadId;
use runtime::{KeyedMutex, KeyedWeakMap};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

/// A lock for each upload that receives bytes.
#[derive(Clone, Debug, Default)]
pub struct ReceiveLocks {
    locks: KeyedMutex<UploadId>,
    /// Cancelled when a newer request for the upload arrives.
    newest: KeyedWeakMap<UploadId, Mutex<CancellationToken>>,
}

/// The lock of an upload, held as long as this value lives.
#[derive(Debug)]
pub struct ReceiveLock {
    replaced: CancellationToken,
    _guard: OwnedMutexGuard<()>,
    _newest: Arc<Mutex<CancellationToken>>,
}

impl ReceiveLocks {
    /// Tells the current holder of an upload's lock that it is replaced, and waits until it has released the lock.
    pub async fn acquire(&self, upload: UploadId) -> ReceiveLock {
        let newest = self.newest.get_or_default(upload);
        let replaced = CancellationToken::new();
        let older = {
            let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *newest, replaced.clone())
        };
        older.cancel();
        let guard = self.locks.lock(upload).await;
        ReceiveLock { replaced, _guard: guard, _newest: newest }
    }
}

impl ReceiveLock {
    /// Waits until another request has asked for the lock of the same upload.
    pub async fn wait_until_replaced(&self) {
        self.replaced.cancelled().await;
    }
}
