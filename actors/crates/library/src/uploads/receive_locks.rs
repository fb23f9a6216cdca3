//! One request at a time writes the bytes of an upload, so that the store never holds more than the announced file and the one
//! that it replaces. The newest request wins: a client that sends the file again has abandoned its last connection, even if the
//! service has not noticed that yet.

use std::sync::{Arc, Mutex, PoisonError};

use entity::id::UploadId;
use runtime::KeyedWeakMap;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

/// A lock for each upload that receives bytes.
#[derive(Clone, Debug, Default)]
pub struct ReceiveLocks(KeyedWeakMap<UploadId, LockState>);

#[derive(Debug, Default)]
struct LockState {
    lock: Arc<tokio::sync::Mutex<()>>,
    newest: Mutex<CancellationToken>,
}

/// The lock of an upload, held as long as this value lives.
#[derive(Debug)]
pub struct ReceiveLock {
    replaced: CancellationToken,
    _guard: OwnedMutexGuard<()>,
    _state: Arc<LockState>,
}

impl ReceiveLocks {
    /// Tells the current holder of an upload's lock that it is replaced, and waits until it has released the lock.
    pub async fn acquire(&self, upload: UploadId) -> ReceiveLock {
        let state = self.0.get_or_default(upload);
        let replaced = CancellationToken::new();
        let older = {
            let mut newest = state.newest.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *newest, replaced.clone())
        };
        older.cancel();
        let guard = state.lock.clone().lock_owned().await;
        ReceiveLock { replaced, _guard: guard, _state: state }
    }
}

impl ReceiveLock {
    /// Waits until another request has asked for the lock of the same upload.
    pub async fn wait_until_replaced(&self) {
        self.replaced.cancelled().await;
    }
}
