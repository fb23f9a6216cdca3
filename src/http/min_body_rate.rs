//! The minimum rate of a body: it may be slower for a while, and earns time by the bytes that have arrived.

use std::time::Duration;

/// The rate at which a body must arrive, with a grace period.
#[derive(Clone, Copy, Debug)]
pub struct MinBodyRate {
    /// Time that a body may take in addition to its length at the minimum rate.
    pub grace: Duration,
    /// The rate below which a body uses up its grace.
    pub min_bytes_per_second: u32,
}

impl MinBodyRate {
    /// Returns the time after the start by which more than these bytes must have arrived.
    pub fn allowed(self, received_bytes: u64) -> Duration {
        // Announced bytes earn nothing: otherwise a client could announce a long body and stall.
        let earned = received_bytes.saturating_mul(1000) / u64::from(self.min_bytes_per_second.max(1));
        self.grace.saturating_add(Duration::from_millis(earned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers the fault table (row 25).
    #[test]
    fn slow_body_earns_time_by_what_has_arrived() {
        let rate = MinBodyRate { grace: Duration::from_secs(20), min_bytes_per_second: 64 << 10 };

        assert_eq!(rate.allowed(0), Duration::from_secs(20));
        assert_eq!(rate.allowed(1 << 20), Duration::from_secs(36));
    }
}
