//! How long rows of keys that were read from the database are current.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use library::clock::Clock;

/// Rows are current for this long after the generation was checked. A change by another process is noticed within this time.
const MAX_CHECK_AGE: Duration = Duration::from_millis(1000);

/// The epoch of all cached keys and tokens, and when the generation of the database was last checked.
pub struct CacheEpoch {
    clock: Arc<dyn Clock>,
    epoch: AtomicU64,
    checked_ms: AtomicU64,
    generation: Mutex<Option<String>>,
}

impl CacheEpoch {
    /// Returns the first epoch. The generation has not been checked yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, epoch: AtomicU64::new(1), checked_ms: AtomicU64::new(0), generation: Mutex::default() }
    }

    /// Returns the epoch, to be noted before a read begins.
    pub fn current(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Returns whether a row that was read in this epoch is still current.
    pub fn is_current(&self, epoch: u64) -> bool {
        // The monotonic time: a wall clock that is set back would keep revoked keys alive (row 22).
        let age = millis(self.clock.elapsed()).saturating_sub(self.checked_ms.load(Ordering::SeqCst));
        epoch == self.current() && u128::from(age) <= MAX_CHECK_AGE.as_millis()
    }

    /// Begins a new epoch after a change: no row that was read before is current any more.
    pub fn bump(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
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

    #[test]
    fn row_is_current_until_a_change_or_an_old_check() {
        let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_000_000)));
        let epoch = CacheEpoch::new(clock.clone());
        let read = epoch.current();
        assert!(epoch.is_current(read));

        clock.advance(Duration::from_millis(1001));
        assert!(!epoch.is_current(read));
        epoch.mark_checked(clock.elapsed());
        assert!(epoch.is_current(read));

        epoch.bump();
        assert!(!epoch.is_current(read));
        assert!(epoch.is_current(epoch.current()));
    }
}
