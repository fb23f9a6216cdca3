//! How long rows of keys and tokens that were read from the database are current.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use library::clock::Clock;
use values::id::UserId;

/// Rows are current for this long after the generation was checked. A change by another process is noticed within this time.
const MAX_CHECK_AGE: Duration = Duration::from_millis(1000);
/// Groups of users whose cached rows a change makes outdated together. Their number bounds the memory.
const USER_GROUPS: usize = 4_096;

/// The epoch of cached keys and tokens, and when the generation of the database was last checked.
///
/// The epoch is the number of changes so far. A cached row has the epoch from before it was read, and is outdated once a later change
/// concerned its user, or everybody.
pub struct CacheEpoch {
    clock: Arc<dyn Clock>,
    changes: AtomicU64,
    /// The last change that concerned everybody.
    last_of_all: AtomicU64,
    /// The last change that concerned a user of each group.
    last_of_users: Vec<AtomicU64>,
    checked_ms: AtomicU64,
    generation: Mutex<Option<String>>,
}

impl CacheEpoch {
    /// Returns the first epoch. The generation has not been checked yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            changes: AtomicU64::new(0),
            last_of_all: AtomicU64::new(0),
            last_of_users: (0..USER_GROUPS).map(|_| AtomicU64::new(0)).collect(),
            checked_ms: AtomicU64::new(0),
            generation: Mutex::default(),
        }
    }

    /// Returns the epoch, to be noted before a read begins.
    pub fn current(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }

    /// Returns whether a row of this user that was read in this epoch is still current.
    pub fn is_current(&self, user: UserId, epoch: u64) -> bool {
        // The monotonic time: a wall clock that is set back would keep revoked keys alive (row 22).
        let age = millis(self.clock.elapsed()).saturating_sub(self.checked_ms.load(Ordering::SeqCst));
        let last_of_all = self.last_of_all.load(Ordering::SeqCst);
        let last_of_user = self.group_of(user).load(Ordering::SeqCst);
        epoch >= last_of_all.max(last_of_user) && u128::from(age) <= MAX_CHECK_AGE.as_millis()
    }

    /// Begins a new epoch after a change that may concern everybody: no row that was read before is current any more.
    pub fn bump(&self) {
        let change = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        self.last_of_all.fetch_max(change, Ordering::SeqCst);
    }

    /// Begins a new epoch after a change of a key, a grant or the account of this user: no row of the user that was read before is
    /// current any more. Few rows of others are read again too.
    pub fn bump_user(&self, user: UserId) {
        // Committed before: a read that notes this epoch or a later one finds the change.
        let change = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        self.group_of(user).fetch_max(change, Ordering::SeqCst);
    }

    fn group_of(&self, user: UserId) -> &AtomicU64 {
        // The last bytes of an id are random (`values::id`).
        let [.., high, low] = *user.0.as_bytes();
        let group = usize::from(u16::from_be_bytes([high, low])) % self.last_of_users.len();
        #[expect(clippy::indexing_slicing, reason = "the remainder is less than the number of groups")]
        let last = &self.last_of_users[group];
        last
    }

    /// Takes the generation that was just read from the database. A new epoch begins if another process has changed it.
    pub fn observe_generation(&self, generation: Option<String>) {
        let mut known = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != generation {
            *known = generation;
            self.bump();
        }
    }

    /// Records a check of the generation that began at `since`, a time of [`Clock::elapsed`].
    pub fn mark_checked(&self, since: Duration) {
        // The maximum, because a check that began earlier may end later.
        self.checked_ms.fetch_max(millis(since), Ordering::SeqCst);
    }
}

fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use library::clock::TestClock;
    use values::time::Timestamp;

    use super::*;

    /// Returns the id of a user in this group.
    fn user_of_group(group: u16) -> UserId {
        UserId(uuid::Uuid::from_u128(u128::from(group)))
    }

    fn new_epoch() -> (Arc<TestClock>, CacheEpoch) {
        let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_000_000)));
        (clock.clone(), CacheEpoch::new(clock))
    }

    #[test]
    fn row_is_current_until_a_change_or_an_old_check() {
        let ((clock, epoch), user) = (new_epoch(), user_of_group(1));
        let read = epoch.current();
        assert!(epoch.is_current(user, read));

        clock.advance(Duration::from_millis(1001));
        assert!(!epoch.is_current(user, read));
        epoch.mark_checked(clock.elapsed());
        assert!(epoch.is_current(user, read));

        epoch.bump();
        assert!(!epoch.is_current(user, read));
        assert!(epoch.is_current(user, epoch.current()));
    }

    #[test]
    fn change_of_one_user_leaves_rows_of_others_current() {
        let ((_, epoch), user, other) = (new_epoch(), user_of_group(1), user_of_group(2));
        let read = epoch.current();

        epoch.bump_user(user);

        assert!(!epoch.is_current(user, read) && epoch.is_current(other, read));
        assert!(epoch.is_current(user, epoch.current()));
        let read = epoch.current();
        epoch.bump_user(other);
        assert!(epoch.is_current(user, read) && !epoch.is_current(other, read));
    }
}
