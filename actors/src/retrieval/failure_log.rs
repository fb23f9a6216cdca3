//! When requests last failed as only damage of the index fails them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Failures that are remembered: more than the number after which an index counts as damaged.
const MAX_FAILURES: usize = 16;

/// The times of the last failures of one index, as [`Clock::elapsed`](library::clock::Clock::elapsed) told them.
#[derive(Debug, Default)]
pub struct FailureLog(Mutex<VecDeque<Duration>>);

impl FailureLog {
    /// Adds a failure.
    pub fn record(&self, now: Duration) {
        let mut times = self.times();
        if times.len() == MAX_FAILURES {
            times.pop_front();
        }
        times.push_back(now);
    }

    /// Counts the failures of the last time, at most [`MAX_FAILURES`].
    pub fn count_within(&self, window: Duration, now: Duration) -> u32 {
        let recent = self.times().iter().filter(|at| now.saturating_sub(**at) < window).count();
        u32::try_from(recent).unwrap_or(u32::MAX)
    }

    /// Whether there was no failure at all.
    pub fn is_empty(&self) -> bool {
        self.times().is_empty()
    }

    /// Forgets all failures: another index is open.
    pub fn clear(&self) {
        self.times().clear();
    }

    fn times(&self) -> MutexGuard<'_, VecDeque<Duration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(60);

    #[test]
    fn failures_are_counted_within_the_window() {
        let log = FailureLog::default();
        for second in [0, 30, 59] {
            log.record(Duration::from_secs(second));
        }

        let counts = [59, 60, 90, 119].map(|now| log.count_within(WINDOW, Duration::from_secs(now)));

        assert_eq!(counts, [3, 2, 1, 0]);
        assert!(!log.is_empty(), "an old failure is one still");
        log.clear();
        assert!(log.is_empty());
    }

    #[test]
    fn only_the_last_failures_are_remembered() {
        let log = FailureLog::default();

        (0..100).for_each(|_| log.record(Duration::ZERO));

        assert_eq!(log.count_within(WINDOW, Duration::ZERO), 16);
    }
}
