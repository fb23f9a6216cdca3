//! Limits the batches of one account that are in progress: the response of each can grow to 10 MB while its changes wait for the
//! database. Other accounts do not wait for them.

use errors::Error;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Batches of one account that are in progress at the same time. More would not be faster: an account's changes wait for each other.
const MAX_CONCURRENT_BATCHES: usize = 4;

/// The slots of one account.
#[derive(Debug)]
pub struct BatchSlots(Semaphore);

impl Default for BatchSlots {
    fn default() -> Self {
        Self(Semaphore::new(MAX_CONCURRENT_BATCHES))
    }
}

impl BatchSlots {
    /// Waits for a slot, which is free again when the permit is dropped.
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
    fn slots_of_accounts_are_independent() {
        let all = KeyedWeakMap::<UserId, BatchSlots>::default();
        let user = |n| all.get_or_default(UserId(uuid::Uuid::from_u128(n)));
        let (greedy, other) = (user(1), user(2));
        let mut held: Vec<_> =
            (0..MAX_CONCURRENT_BATCHES).map(|_| greedy.acquire().now_or_never().unwrap()).collect();

        assert!(user(1).acquire().now_or_never().is_none());
        assert!(other.acquire().now_or_never().is_some());
        held.pop();
        assert!(user(1).acquire().now_or_never().is_some());
    }
}
