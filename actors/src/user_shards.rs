//! State of users that the threads of requests share, split so that they seldom wait for each other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use values::id::UserId;

/// A value for each of a fixed number of groups of users (shards), each behind its own lock. All state of a user is in one shard.
pub(crate) struct UserShards<T> {
    shards: Vec<Mutex<T>>,
}

impl<T: Default> UserShards<T> {
    /// Returns this many shards, at least one, each with the default value.
    pub fn new(number: usize) -> Self {
        Self { shards: (0..number.max(1)).map(|_| Mutex::default()).collect() }
    }

    /// Locks the shard of a user. It must be held for moments only: the threads of requests wait for it.
    pub fn lock(&self, user: UserId) -> MutexGuard<'_, T> {
        let index = shard_index(user, self.shards.len());
        #[expect(clippy::indexing_slicing, reason = "the remainder is less than the number of shards")]
        let shard = &self.shards[index];
        // A panic leaves no half-made change behind: the changes are assignments and insertions.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks one shard after the other.
    pub fn lock_each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the index of the shard of a user among this many, at least one: less than their number, and the same each time.
pub(crate) fn shard_index(user: UserId, shards: usize) -> usize {
    // The last bytes of an id are random (`values::id`).
    let [.., high, low] = *user.0.as_bytes();
    usize::from(u16::from_be_bytes([high, low])) % shards.max(1)
}

#[cfg(test)]
mod tests {
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn user_has_the_same_shard_each_time() {
        let shards = UserShards::<Vec<UserId>>::new(8);
        let users: Vec<UserId> = (0..100).map(|_| UserId::new(Timestamp::from_millis(1))).collect();

        for user in &users {
            shards.lock(*user).push(*user);
        }

        assert!(users.iter().all(|user| shards.lock(*user).contains(user)));
        let sizes: Vec<usize> = shards.lock_each().map(|shard| shard.len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 100);
        assert!(sizes.iter().filter(|size| **size > 0).count() > 1, "{sizes:?}");
    }
}
