//! Bounds the uploads of one account that receive bytes at the same time. Each has an open connection, an open file and parts of the
//! file in memory, and its client may be slow.

use entity::id::UserId;
use errors::Error;
use runtime::KeyedWeakMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Uploads of one account that receive bytes at the same time. A browser sends at most six over HTTP/1.1.
const MAX_UPLOADS_PER_ACCOUNT: usize = 8;

/// The slots of each account that sends files. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ReceiveSlots(KeyedWeakMap<UserId, Semaphore>);

impl ReceiveSlots {
    /// Takes a slot of the account; it is free again once the permit is dropped.
    ///
    /// # Errors
    /// [`Error::TooManyUploads`] when all slots of the account are taken.
    pub fn acquire(&self, user: UserId) -> Result<OwnedSemaphorePermit, Error> {
        let slots = self.0.get_or_insert_with(user, || Semaphore::new(MAX_UPLOADS_PER_ACCOUNT));
        slots.try_acquire_owned().map_err(|_| Error::TooManyUploads { limit: MAX_UPLOADS_PER_ACCOUNT })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_without_a_free_slot_is_refused_alone() {
        let (slots, user) = (ReceiveSlots::default(), |n| UserId(uuid::Uuid::from_u128(n)));
        let mut held: Vec<_> =
            (0..MAX_UPLOADS_PER_ACCOUNT).map(|_| slots.acquire(user(1)).unwrap()).collect();

        assert!(matches!(slots.acquire(user(1)), Err(Error::TooManyUploads { .. })));
        assert!(slots.acquire(user(2)).is_ok());
        held.pop();
        assert!(slots.acquire(user(1)).is_ok());
    }
}
