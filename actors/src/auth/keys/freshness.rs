//! How long what was read of keys may be believed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use library::clock::Clock;

/// A look at the generation is believed for so long; a change by another process is seen within it.
const BELIEVED: Duration = Duration::from_millis(1000);

/// The epoch of all keys, and when the database's generation was last looked at.
pub struct Freshness {
    clock: Arc<dyn Clock>,
    epoch: AtomicU64,
    looked_ms: AtomicU64,
    generation: Mutex<Option<String>>,
}

impl Freshness {
    /// Nothing has been looked at yet.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, epoch: AtomicU64::new(1), looked_ms: AtomicU64::new(0), generation: Mutex::default() }
    }

    /// The epoch to note before a read begins.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// Whether a row that was read in this epoch still counts.
    pub fn holds(&self, epoch: u64) -> bool {
        let age = millis(self.clock.elapsed()).saturating_sub(self.looked_ms.load(Ordering::SeqCst));
        epoch == self.epoch() && u128::from(age) <= BELIEVED.as_millis()
    }

    /// Something changed: no row read before counts any more.
    pub fn raise(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// The database's generation, as it was just read: where it moved, another process changed something.
    pub fn seen(&self, generation: Option<String>) {
        let mut known = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != generation {
            *known = generation;
            self.raise();
        }
    }

    /// The generation was looked at; `since` is when that look began.
    pub fn looked(&self, since: Duration) {
        self.looked_ms.fetch_max(millis(since), Ordering::SeqCst);
    }
}

fn millis(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use entity::time::Timestamp;

    use super::*;
    use library::clock::TestClock;

    #[test]
    fn a_row_counts_until_something_changes_or_the_last_look_is_too_old() {
        let clock = Arc::new(TestClock::at(Timestamp::from_millis(1_000_000)));
        let fresh = Freshness::new(clock.clone());
        let read = fresh.epoch();
        assert!(fresh.holds(read));

        clock.advance(Duration::from_millis(1001));
        assert!(!fresh.holds(read));
        fresh.looked(clock.elapsed());
        assert!(fresh.holds(read));

        fresh.raise();
        assert!(!fresh.holds(read));
        assert!(fresh.holds(fresh.epoch()));
    }
}
