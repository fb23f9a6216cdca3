//! One thing for each key, as long as somebody holds it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// See the file's head. Clones share what there is.
#[derive(Debug)]
pub struct Shared<K, V>(Arc<Mutex<HashMap<K, Weak<V>>>>);

impl<K, V> Clone for Shared<K, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash, V> Shared<K, V> {
    /// The thing of this key: a new one where nobody holds it.
    pub fn of(&self, key: K) -> Arc<V>
    where
        V: Default,
    {
        self.of_or_make(key, V::default)
    }

    /// As [`Self::of`], where a new one is made by `make`.
    pub fn of_or_make(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, thing| thing.strong_count() > 0);
        let there = all.get(&key).and_then(Weak::upgrade);
        there.unwrap_or_else(|| {
            let thing = Arc::new(make());
            all.insert(key, Arc::downgrade(&thing));
            thing
        })
    }
}
