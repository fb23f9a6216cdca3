//! A map whose values live as long as they are referenced outside of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Shares one value for each key among its holders. A value is dropped with its last holder. Clones share the map.
#[derive(Debug)]
pub struct KeyedWeakMap<K, V>(Arc<Mutex<HashMap<K, Weak<V>>>>);

impl<K, V> Clone for KeyedWeakMap<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> Default for KeyedWeakMap<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash, V> KeyedWeakMap<K, V> {
    /// Returns the value of this key; the default value if none is referenced.
    pub fn get_or_default(&self, key: K) -> Arc<V>
    where
        V: Default,
    {
        self.get_or_insert_with(key, V::default)
    }

    /// Returns the value of this key; the one that `make` returns if none is referenced. Takes time in the number of keys that are held.
    pub fn get_or_insert_with(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Dropping the last holder of a value does not remove its entry, so dead entries are removed here.
        all.retain(|_, value| value.strong_count() > 0);
        let held = all.get(&key).and_then(Weak::upgrade);
        held.unwrap_or_else(|| {
            let value = Arc::new(make());
            all.insert(key, Arc::downgrade(&value));
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_shared_until_its_last_holder_drops_it() {
        let map = KeyedWeakMap::<&str, Mutex<u32>>::default();
        let (first, second) = (map.get_or_default("a"), map.clone().get_or_default("a"));

        *first.lock().unwrap() = 7;

        assert_eq!(*second.lock().unwrap(), 7);
        assert_eq!(*map.get_or_default("b").lock().unwrap(), 0);
        drop((first, second));
        assert_eq!(*map.get_or_default("a").lock().unwrap(), 0);
    }
}
