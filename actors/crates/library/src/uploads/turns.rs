//! The bytes of an upload come in one after another: however many requests its address is sent to, one at a time is
//! written, so that no more is on the disk than was announced, and what it replaces. The newest goes on: a client that comes
//! again has given its last connection up, whether or not that is known here.

use std::sync::{Arc, Mutex, PoisonError};

use entity::id::UploadId;
use runtime::KeyedWeakMap;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

/// Whose turn it is at each upload that bytes come for.
#[derive(Clone, Debug, Default)]
pub struct Turns(KeyedWeakMap<UploadId, Arriving>);

#[derive(Debug, Default)]
struct Arriving {
    lock: Arc<tokio::sync::Mutex<()>>,
    newest: Mutex<CancellationToken>,
}

/// A turn, for as long as it is kept.
#[derive(Debug)]
pub struct Turn {
    over: CancellationToken,
    _held: OwnedMutexGuard<()>,
    _of: Arc<Arriving>,
}

impl Turns {
    /// Ends the turn of whoever has it at this upload, and waits until that is done.
    pub async fn of(&self, upload: UploadId) -> Turn {
        let of = self.0.get_or_default(upload);
        let over = CancellationToken::new();
        let older = {
            let mut newest = of.newest.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *newest, over.clone())
        };
        older.cancel();
        let held = of.lock.clone().lock_owned().await;
        Turn { over, _held: held, _of: of }
    }
}

impl Turn {
    /// Waits until another request has come for the same upload.
    pub async fn over(&self) {
        self.over.cancelled().await;
    }
}
