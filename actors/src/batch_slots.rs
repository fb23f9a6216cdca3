//! Limits the batches of one account that are in progress. The response of each can grow to 10 MB while its changes wait for the
//! database. Accounts do not wait for each other.

use concurrency::KeyedSemaphore;
use errors::Error;
use tokio::sync::OwnedSemaphorePermit;
use values::id::UserId;

/// Batches of one account that are in progress at the same time. More would not be faster: an account's changes wait for each other.
const MAX_CONCURRENT_BATCHES: usize = 4;

/// The slots of each account that sends batches. Clones share them.
#[derive(Clone, Debug)]
pub struct BatchSlots(KeyedSemaphore<UserId>);

impl Default for BatchSlots {
    fn default() -> Self {
        Self(KeyedSemaphore::new(MAX_CONCURRENT_BATCHES))
    }
}

impl BatchSlots {
    /// Waits for a slot of the account. It is released when the permit is dropped.
    ///
    /// # Errors
    /// [`Error::Internal`] if the slots are closed, which does not happen.
    pub async fn acquire(&self, user: UserId) -> Result<OwnedSemaphorePermit, Error> {
        self.0.acquire(user).await.map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn slots_of_accounts_are_independent() {
        let (slots, user) = (BatchSlots::default(), |n| UserId(uuid::Uuid::from_u128(n)));
        let mut held: Vec<_> =
            (0..MAX_CONCURRENT_BATCHES).map(|_| slots.acquire(user(1)).now_or_never().unwrap()).collect();

        assert!(slots.acquire(user(1)).now_or_never().is_none());
        assert!(slots.acquire(user(2)).now_or_never().is_some());
        held.pop();
        assert!(slots.acquire(user(1)).now_or_never().is_some());
    }
}
