//! Bounds the uploads of one account that receive bytes at the same time. Each has an open connection, an open file and parts of the
//! file in memory, and its client may be slow.

use concurrency::KeyedSemaphore;
use errors::Error;
use tokio::sync::OwnedSemaphorePermit;
use values::id::UserId;

/// Uploads of one account that receive bytes at the same time. A browser sends at most six over HTTP/1.1.
const MAX_UPLOADS_PER_ACCOUNT: usize = 8;

/// The slots of each account that sends files. Clones share them.
#[derive(Clone, Debug)]
pub struct ReceiveSlots(KeyedSemaphore<UserId>);

impl Default for ReceiveSlots {
    fn default() -> Self {
        Self(KeyedSemaphore::new(MAX_UPLOADS_PER_ACCOUNT))
    }
}

impl ReceiveSlots {
    /// Acquires a slot of the account without waiting. It is released when the permit is dropped.
    ///
    /// # Errors
    /// [`Error::TooManyUploads`] when all slots of the account are taken.
    pub fn try_acquire(&self, user: UserId) -> Result<OwnedSemaphorePermit, Error> {
        self.0.try_acquire(user).ok_or(Error::TooManyUploads { limit: MAX_UPLOADS_PER_ACCOUNT })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_without_a_free_slot_is_refused_alone() {
        let (slots, user) = (ReceiveSlots::default(), |n| UserId(uuid::Uuid::from_u128(n)));
        let mut held: Vec<_> =
            (0..MAX_UPLOADS_PER_ACCOUNT).map(|_| slots.try_acquire(user(1)).unwrap()).collect();

        assert!(matches!(slots.try_acquire(user(1)), Err(Error::TooManyUploads { .. })));
        assert!(slots.try_acquire(user(2)).is_ok());
        held.pop();
        assert!(slots.try_acquire(user(1)).is_ok());
    }
}
