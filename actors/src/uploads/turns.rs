//! The bytes of an upload come in one after another: however many requests its address is sent to, one at a time is
//! read and written, so that no more is on the disk than was announced, and what it replaces.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use entity::id::UploadId;
use tokio::sync::OwnedMutexGuard;

type Lock = tokio::sync::Mutex<()>;

/// Whose turn it is at each upload that bytes come for.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<Mutex<HashMap<UploadId, Weak<Lock>>>>);

impl Turns {
    /// Waits until no other bytes come for this upload. The turn lasts as long as what is returned.
    pub async fn of(&self, upload: UploadId) -> OwnedMutexGuard<()> {
        self.lock(upload).lock_owned().await
    }

    fn lock(&self, upload: UploadId) -> Arc<Lock> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, lock| lock.strong_count() > 0);
        let there = all.get(&upload).and_then(Weak::upgrade);
        there.unwrap_or_else(|| {
            let lock = Arc::<Lock>::default();
            all.insert(upload, Arc::downgrade(&lock));
            lock
        })
    }
}
