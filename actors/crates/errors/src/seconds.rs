//! Waits in whole seconds, as header fields and messages have them.

use std::time::Duration;

/// Returns a duration in whole seconds, rounded up.
pub fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0))
}

/// Returns a wait in the unit of `Retry-After`: whole seconds, rounded up and never zero, because a client that retries too early is
/// refused again.
pub fn retry_after_seconds(wait: Duration) -> u64 {
    whole_seconds(wait).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_rounded_up_and_never_zero() {
        for (wait, whole) in [(0, 1), (999, 1), (1000, 1), (2100, 3)] {
            assert_eq!(retry_after_seconds(Duration::from_millis(wait)), whole);
        }
        assert_eq!(retry_after_seconds(Duration::MAX), u64::MAX);
    }
}
