//! One request at a time writes the bytes of an upload, so that the store never holds more than the announced file and the one
//! that it replaces. The newest request wins: a client that sends the file again has abandoned its last connection, even if the
//! server has not noticed that yet. In that this differs from [`concurrency::KeyedMutex`], which it adds to.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use concurrency::{KeyedMutex, KeyedWeakMap};
use errors::Error;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use values::id::UploadId;

const SENDER_REPLACED: Error =
    Error::Conflict(Cow::Borrowed("another request is sending this file; this one was stopped"));

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
    /// Tells the current holder of an upload's lock, and all that wait for it, that they are replaced, and waits until the
    /// holder has released the lock.
    ///
    /// # Errors
    /// [`Error::Conflict`] once a newer request asks for the lock of the same upload.
    pub async fn acquire(&self, upload: UploadId) -> Result<ReceiveLock, Error> {
        let newest = self.newest.get_or_default(upload);
        let replaced = CancellationToken::new();
        let older = {
            // A token is valid in any state, so a panic of another holder does no harm.
            let mut newest = newest.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *newest, replaced.clone())
        };
        older.cancel();
        // A newer request may have joined the queue for the lock before this one, so the order of the queue is not enough.
        let guard = tokio::select! {
            // In this order: when both are ready at once, a request that was replaced must not get the lock.
            biased;
            () = replaced.cancelled() => return Err(SENDER_REPLACED),
            guard = self.locks.lock(upload) => guard,
        };
        let lock = ReceiveLock { replaced, _guard: guard, _newest: newest };
        lock.require_newest()?;
        Ok(lock)
    }
}

impl ReceiveLock {
    /// Waits until another request has asked for the lock of the same upload, and returns the error of this one.
    pub async fn wait_until_replaced(&self) -> Error {
        self.replaced.cancelled().await;
        SENDER_REPLACED
    }

    /// Checks that no other request has asked for the lock of the same upload since this one did.
    ///
    /// # Errors
    /// [`Error::Conflict`] if another request has; this one must not record its file then.
    pub fn require_newest(&self) -> Result<(), Error> {
        if self.replaced.is_cancelled() { Err(SENDER_REPLACED) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use uuid::Uuid;

    use super::*;

    const UPLOAD: UploadId = UploadId(Uuid::from_u128(8));

    #[tokio::test]
    async fn waiting_request_that_is_replaced_gets_no_lock() {
        let locks = ReceiveLocks::default();
        let first = locks.acquire(UPLOAD).await.unwrap();
        let (mut second, mut third) = (Box::pin(locks.acquire(UPLOAD)), Box::pin(locks.acquire(UPLOAD)));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());

        // The second one is the next in the queue.
        drop(first);

        assert!(matches!(second.await, Err(Error::Conflict(_))));
        assert!(third.await.is_ok());
    }

    #[tokio::test]
    async fn holder_that_is_replaced_is_not_the_newest() {
        let locks = ReceiveLocks::default();
        let first = locks.acquire(UPLOAD).await.unwrap();
        assert!(first.require_newest().is_ok());

        let mut second = Box::pin(locks.acquire(UPLOAD));
        assert!((&mut second).now_or_never().is_none());

        assert!(matches!(first.require_newest(), Err(Error::Conflict(_))));
        assert!(matches!(first.wait_until_replaced().now_or_never(), Some(Error::Conflict(_))));
    }
}
