//! A mutex for each key.

use std::hash::Hash;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::keyed_weak_map::KeyedWeakMap;

/// One lock for each key, with a value. Callers that wait for the lock of one key get it in the order of their arrival, and do not
/// delay those of other keys. The value exists while a caller holds the lock or waits for it, and begins with the default. The locks
/// are shared by all clones.
#[derive(Debug)]
pub struct KeyedMutex<K, T = ()>(KeyedWeakMap<K, Mutex<T>>);

impl<K, T> Clone for KeyedMutex<K, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, T> Default for KeyedMutex<K, T> {
    fn default() -> Self {
        Self(KeyedWeakMap::default())
    }
}

impl<K: Eq + Hash, T: Default> KeyedMutex<K, T> {
    /// Waits for the lock of this key. It is released when the guard is dropped.
    pub async fn lock(&self, key: K) -> OwnedMutexGuard<T> {
        self.0.get_or_default(key).lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn second_caller_of_a_key_waits_for_the_first() {
        let locks = KeyedMutex::<u8>::default();

        let first = locks.lock(1).await;
        let mut second = Box::pin(locks.lock(1));

        assert!((&mut second).now_or_never().is_none());
        assert!(locks.lock(2).now_or_never().is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
    }

    #[tokio::test]
    async fn value_is_passed_on_to_the_callers_that_wait() {
        let locks = KeyedMutex::<u8, Vec<u8>>::default();
        let mut first = locks.lock(1).await;
        let mut second = Box::pin(locks.lock(1));
        assert!((&mut second).now_or_never().is_none());

        first.push(7);
        drop(first);

        assert_eq!(*second.await, [7]);
        assert!(locks.lock(1).await.is_empty());
    }
}
