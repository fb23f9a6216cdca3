//! Serializes the uploads of files to import, per user. The number of a user's imports in progress is checked before a file is
//! received, and the file counts as one of them only after its last byte.

use entity::id::UserId;
use runtime::KeyedWeakMap;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// One lock per user who uploads a file to import. Clones share the locks.
#[derive(Clone, Debug, Default)]
pub struct UploadLocks(KeyedWeakMap<UserId, Mutex<()>>);

impl UploadLocks {
    /// Waits until no other file of the user is being received. The lock is held until the guard is dropped.
    pub async fn acquire(&self, user: UserId) -> OwnedMutexGuard<()> {
        self.0.get_or_default(user).lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn second_upload_of_a_user_waits_for_the_first() {
        let (locks, user) = (UploadLocks::default(), |n| UserId(uuid::Uuid::from_u128(n)));

        let first = locks.acquire(user(1)).await;
        let mut second = Box::pin(locks.acquire(user(1)));

        assert!((&mut second).now_or_never().is_none());
        assert!(locks.acquire(user(2)).now_or_never().is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
    }
}
