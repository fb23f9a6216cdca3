//! Bounds the batches that one account has in progress: the answer of each can grow to 10 MB while its changes wait for the
//! database. Other accounts do not wait for them.

use tokio::sync::{Semaphore, SemaphorePermit};

use errors::Error;

/// Batches of one account that are in progress at the same time. More would not be faster: an account's changes wait for each other.
const MAX_AT_ONCE: usize = 4;

/// The slots of one account.
#[derive(Debug)]
pub struct BatchSlots(Semaphore);

impl Default for BatchSlots {
    fn default() -> Self {
        Self(Semaphore::new(MAX_AT_ONCE))
    }
}

impl BatchSlots {
    /// Waits for a slot.
    ///
    /// # Errors
    /// [`Error::Internal`] if the slots are closed, which does not happen.
    pub async fn acquire(&self) -> Result<SemaphorePermit<'_>, Error> {
        self.0.acquire().await.map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use entity::id::UserId;
    use futures_util::FutureExt;
    use runtime::KeyedWeakMap;

    use super::*;

    #[test]
    fn account_has_few_batches_at_once_and_others_have_theirs() {
        let all = KeyedWeakMap::<UserId, BatchSlots>::default();
        let user = |n| all.get_or_default(UserId(uuid::Uuid::from_u128(n)));
        let (greedy, other) = (user(1), user(2));
        let mut held: Vec<_> = (0..MAX_AT_ONCE).map(|_| greedy.acquire().now_or_never().unwrap()).collect();

        assert!(user(1).acquire().now_or_never().is_none());
        assert!(other.acquire().now_or_never().is_some());
        held.pop();
        assert!(user(1).acquire().now_or_never().is_some());
    }
}
