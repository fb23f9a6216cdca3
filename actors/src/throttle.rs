//! A limit of how often work is done for each id.

use std::hash::Hash;
use std::num::NonZeroU32;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// Above this number of ids in memory, those whose whole burst is available again are dropped.
const MAX_IDS: usize = 10_000;

/// Limits how often work is done for each id: `burst` times at once, and then at a steady rate.
pub struct KeyedThrottle<Id: Clone + Hash + Eq>(DefaultKeyedRateLimiter<Id>);

impl<Id: Clone + Hash + Eq> KeyedThrottle<Id> {
    /// Returns a throttle in which every id has its whole burst, of at least one.
    pub fn new(rate: Quota, burst: u32) -> Self {
        Self(RateLimiter::keyed(rate.allow_burst(NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN))))
    }

    /// Returns whether the work may be done for this id, and counts it if so.
    pub fn try_acquire(&self, id: &Id) -> bool {
        if self.0.len() > MAX_IDS {
            self.0.retain_recent();
        }
        self.0.check_key(id).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_is_counted_for_each_id() {
        let throttle = KeyedThrottle::new(Quota::per_hour(NonZeroU32::MIN), 2);

        assert_eq!([1, 1, 1, 2].map(|id| throttle.try_acquire(&id)), [true, true, false, true]);
    }
}
