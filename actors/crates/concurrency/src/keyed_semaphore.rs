//! A semaphore for each key.

use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::keyed_weak_map::KeyedWeakMap;

/// The same number of permits for each key. Callers that wait for a permit of one key get it in the order of their arrival, and do
/// not delay those of other keys. A semaphore exists while a caller holds a permit of its key or waits for one. The permits are
/// shared by all clones.
#[derive(Debug)]
pub struct KeyedSemaphore<K> {
    permits: usize,
    semaphores: KeyedWeakMap<K, Semaphore>,
}

impl<K> Clone for KeyedSemaphore<K> {
    fn clone(&self) -> Self {
        Self { permits: self.permits, semaphores: self.semaphores.clone() }
    }
}

impl<K: Eq + Hash> KeyedSemaphore<K> {
    /// Creates the semaphores, with this many permits for each key.
    pub fn new(permits: usize) -> Self {
        Self { permits, semaphores: KeyedWeakMap::default() }
    }

    /// Waits for a permit of this key. It is released when it is dropped.
    ///
    /// # Errors
    /// [`AcquireError`] after a holder of the key has closed the semaphore, until all of its permits are dropped.
    pub async fn acquire(&self, key: K) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.semaphore(key).acquire_owned().await
    }

    /// Returns a permit of this key if one is available.
    pub fn try_acquire(&self, key: K) -> Option<OwnedSemaphorePermit> {
        self.semaphore(key).try_acquire_owned().ok()
    }

    fn semaphore(&self, key: K) -> Arc<Semaphore> {
        self.semaphores.get_or_insert_with(key, || Semaphore::new(self.permits))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn permits_of_keys_are_independent() {
        let slots = KeyedSemaphore::new(2);
        let mut held = vec![slots.acquire('a').await.unwrap(), slots.try_acquire('a').unwrap()];

        assert!(slots.try_acquire('a').is_none());
        assert!(slots.acquire('a').now_or_never().is_none());
        assert!(slots.try_acquire('b').is_some());
        held.pop();
        assert!(slots.try_acquire('a').is_some());
    }

    #[tokio::test]
    async fn closed_semaphore_is_replaced_once_its_permits_are_dropped() {
        let slots = KeyedSemaphore::new(1);
        let held = slots.acquire('a').await.unwrap();

        held.semaphore().close();

        assert!(slots.acquire('a').await.is_err());
        assert!(slots.acquire('b').await.is_ok());
        drop(held);
        assert!(slots.acquire('a').await.is_ok());
    }
}
