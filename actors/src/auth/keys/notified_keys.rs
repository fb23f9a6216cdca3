//! The keys of which this process has notified the first use, or does so.

use std::collections::HashSet;

use values::id::KeyId;

/// As many as there are cached keys: the rows of other keys are read again, and say that they were used.
const MAX_NOTIFIED_KEYS: usize = 10_000;

/// Keys whose cached rows may say that they are new although their first use has a notice, or will have one soon.
///
/// The number of ids is bounded, because a user may create, use and delete any number of keys, and no process learns of all deletions.
/// An id that is dropped too early causes one more update in the database, which finds that the key was used and changes nothing.
#[derive(Debug, Default)]
pub(super) struct NotifiedKeys(HashSet<KeyId>);

impl NotifiedKeys {
    /// Adds a key. Returns `false` if it is one of them.
    pub fn insert(&mut self, key: KeyId) -> bool {
        if self.0.contains(&key) {
            return false;
        }
        if self.0.len() >= MAX_NOTIFIED_KEYS {
            self.0.clear();
        }
        self.0.insert(key)
    }

    /// Removes a key whose notice could not be stored.
    pub fn remove(&mut self, key: KeyId) {
        self.0.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use values::time::Timestamp;

    use super::*;

    fn new_key() -> KeyId {
        KeyId::new(Timestamp::from_millis(1_714_996_800_000))
    }

    #[test]
    fn key_is_added_once_until_it_is_removed() {
        let (mut keys, key) = (NotifiedKeys::default(), new_key());

        assert!(keys.insert(key) && !keys.insert(key));
        keys.remove(key);
        assert!(keys.insert(key));
    }

    #[test]
    fn keys_beyond_the_maximum_replace_the_others() {
        let (mut keys, first) = (NotifiedKeys::default(), new_key());
        keys.insert(first);

        for _ in 0..2 * MAX_NOTIFIED_KEYS {
            assert!(keys.insert(new_key()));
            assert!(keys.0.len() <= MAX_NOTIFIED_KEYS);
        }

        assert!(keys.insert(first), "a dropped key is added again");
    }
}
