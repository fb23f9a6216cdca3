//! How long rows of keys and tokens that were read from the database are current.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use library::clock::Clock;
use values::id::UserId;

use crate::user_shards::shard_index;

/// Rows are current for this long after the generation was checked. A change by another process is noticed within this time.
const MAX_CHECK_AGE: Duration = Duration::from_millis(1000);
/// Groups of users whose cached rows a change makes outdated together. Their number bounds the memory.
const USER_GROUPS: usize = 4_096;

/// The epoch of cached keys and tokens, and when the generation of the database was last checked.
///
/// The epoch is the number of changes so far. A cached row has the epoch from before it was read, and is outdated once a later change
/// concerned its user, or all users.
pub struct CacheEpoch {
    clock: Arc<dyn Clock>,
    changes: AtomicU64,
    /// The last change that concerned all users.
    last_of_all: AtomicU64,
    /// The last change that concerned a user of each group.
    last_of_users: Vec<AtomicU64>,
    checked_ms: AtomicU64,
    /// The generation of the database up to which every change has begun an epoch.
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

    /// Begins a new epoch after a change that may concern all users: no row that was read before is current any more.
    pub fn bump(&self) {
        let change = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        self.last_of_all.fetch_max(change, Ordering::SeqCst);
    }

    /// Begins a new epoch after a change of a key, a grant or the account of this user: no row of the user that was read before is
    /// current any more. Few rows of others are read again too. For a change that raised the generation there is
    /// [`Self::record_own_change`].
    pub fn bump_user(&self, user: UserId) {
        // Committed before: a read that notes this epoch or a later one finds the change.
        let change = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        self.group_of(user).fetch_max(change, Ordering::SeqCst);
    }

    /// Begins a new epoch as [`Self::bump_user`] does, after a change that this process has committed and that raised the generation to
    /// this number. So that change is not taken for one of another process when the generation is read again.
    pub fn record_own_change(&self, user: UserId, generation: i64) {
        self.bump_user(user);
        let mut known = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        // Any other number means that a change before this one was not noticed yet, such as one of another process. Then the known
        // generation stays, so that the next check finds a difference and all rows are read again.
        let number = known.as_deref().map_or(Some(0), |known| known.parse::<i64>().ok());
        if number.and_then(|number| number.checked_add(1)) == Some(generation) {
            *known = Some(generation.to_string());
        }
    }

    fn group_of(&self, user: UserId) -> &AtomicU64 {
        let group = shard_index(user, self.last_of_users.len());
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
    fn own_change_is_not_taken_for_one_of_another_process() {
        let ((_, epoch), user, other) = (new_epoch(), user_of_group(1), user_of_group(2));
        epoch.observe_generation(Some("7".to_owned()));
        let read = epoch.current();

        epoch.record_own_change(user, 8);
        epoch.observe_generation(Some("8".to_owned()));
        assert!(!epoch.is_current(user, read) && epoch.is_current(other, read));

        // Another process made the change 9.
        epoch.record_own_change(user, 10);
        assert!(epoch.is_current(other, read));
        epoch.observe_generation(Some("10".to_owned()));
        assert!(!epoch.is_current(other, read));
    }

    #[test]
    fn own_change_that_was_read_before_it_is_recorded_stays_known() {
        let ((_, epoch), user, other) = (new_epoch(), user_of_group(1), user_of_group(2));
        epoch.observe_generation(Some("1".to_owned()));

        epoch.record_own_change(user, 1);
        let read = epoch.current();
        epoch.observe_generation(Some("1".to_owned()));

        assert!(epoch.is_current(user, read) && epoch.is_current(other, read));
    }

    #[test]
    fn first_change_of_a_new_database_is_an_own_change() {
        let ((_, epoch), user, other) = (new_epoch(), user_of_group(1), user_of_group(2));
        epoch.observe_generation(None);
        let read = epoch.current();

        epoch.record_own_change(user, 1);
        epoch.observe_generation(Some("1".to_owned()));

        assert!(!epoch.is_current(user, read) && epoch.is_current(other, read));
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
