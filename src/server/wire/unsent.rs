//! The memory of answers whose readers are slow.
//!
//! The encoded part of an answer is bounded for each connection, but an answer in memory of which only the beginning is encoded can
//! have megabytes. Once its reader blocks writing, the rest counts towards a budget with shares. If the rest exceeds the budget,
//! the connection is closed, unless its reader continues at once.

use std::sync::Arc;
use std::time::Duration;

use crate::http::budget::{Budget, Hold, Sender, Shares};

/// A rest of this size does not count. Together with the encoded part it is at most 64 KiB.
pub const FREE_BYTES: usize = 32 << 10;
/// Memory of all such rests. A page of a hundred notes of full length has about 10 MB. Strangers get short answers, or ones whose
/// memory is shared.
const SHARES: Shares =
    Shares { total: 160 << 20, reserve: 32 << 20, account: 32 << 20, network: 8 << 20, strangers: 32 << 20 };
/// How long a peer may block writing when its answer exceeds the budget: peers that read continuously are not closed because others
/// do not read.
pub const MAX_UNHELD: Duration = Duration::from_millis(250);
/// A peer that reads more slowly than this uses up its allowance.
const MIN_BYTES_PER_SECOND: u64 = 8 << 10;
/// The gauge of the held bytes.
const GAUGE: &str = "carrel_slow_readers_bytes";

/// The budget, for all workers together. Clones share it.
#[derive(Clone, Debug)]
pub struct UnsentAnswers(Arc<Budget>);

impl UnsentAnswers {
    /// An unused budget.
    pub fn new() -> Self {
        Self(Budget::new(SHARES))
    }

    /// Returns the share of one connection, which is empty at first.
    pub fn hold(&self, sender: Sender) -> UnsentHold {
        UnsentHold { hold: self.0.hold(sender) }
    }
}

/// The share of one connection in the budget; released when this is dropped.
#[derive(Debug)]
pub struct UnsentHold {
    hold: Hold,
}

impl UnsentHold {
    /// Takes the additional bytes that a rest of this length needs. Returns whether the budget allows it.
    pub fn grow_to(&mut self, length: usize) -> bool {
        if length <= FREE_BYTES {
            return true;
        }
        let before = self.hold.bytes();
        let is_held = self.hold.grow_to(length).is_ok();
        metrics::gauge!(GAUGE).increment((self.hold.bytes() - before) as f64);
        is_held
    }
}

impl Drop for UnsentHold {
    fn drop(&mut self) {
        if self.hold.bytes() > 0 {
            metrics::gauge!(GAUGE).decrement(self.hold.bytes() as f64);
        }
    }
}

/// How long a peer may still block writing. It earns time by the bytes that it reads, which distinguishes a slow peer from one that
/// hardly reads at all.
#[derive(Clone, Copy, Debug)]
pub struct WriteAllowance {
    max: Duration,
    left: Duration,
}

impl WriteAllowance {
    /// Starts with the full allowance.
    pub fn new(max: Duration) -> Self {
        Self { max, left: max }
    }

    /// Returns the remaining time.
    pub fn left(&self) -> Duration {
        self.left
    }

    /// Records that `written` bytes were written after writing was blocked for this time.
    pub fn settle(&mut self, blocked: Duration, written: usize) {
        let written = u64::try_from(written).unwrap_or(u64::MAX);
        let earned = Duration::from_millis(written.saturating_mul(1000) / MIN_BYTES_PER_SECOND);
        self.left = self.left.saturating_sub(blocked).saturating_add(earned).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    const KIB: usize = 1 << 10;

    #[test]
    fn short_rest_of_an_answer_does_not_count() {
        let unsent = UnsentAnswers::new();
        let mut hold = unsent.hold(Sender::stranger(None));

        assert!(hold.grow_to(FREE_BYTES));
        assert_eq!(unsent.0.held(), 0);
        assert!(hold.grow_to(FREE_BYTES + 1));
        assert!(unsent.0.held() > FREE_BYTES);
        drop(hold);
        assert_eq!(unsent.0.held(), 0);
    }

    #[test]
    fn one_address_holds_at_most_its_share() {
        let unsent = UnsentAnswers::new();
        let address = |last| Sender::stranger(Some(IpAddr::from([192, 0, 2, last])));
        let mut held = Vec::new();

        let is_refused = (0..100).any(|_| {
            let mut hold = unsent.hold(address(1));
            let is_held = hold.grow_to(1 << 20);
            held.push(hold);
            !is_held
        });

        assert!(is_refused);
        assert_eq!(unsent.0.held(), SHARES.network);
        assert!(unsent.hold(address(2)).grow_to(1 << 20));
    }

    #[test]
    fn peer_below_the_minimum_rate_uses_up_its_allowance() {
        let second = Duration::from_secs(1);
        let mut slow = WriteAllowance::new(10 * second);
        let mut steady = slow;

        for _ in 0..11 {
            slow.settle(second, KIB);
            steady.settle(second, 8 * KIB);
        }

        assert!(slow.left() < second, "{slow:?}");
        assert_eq!(steady.left(), 10 * second);
    }

    #[test]
    fn allowance_is_not_saved_up() {
        let mut allowance = WriteAllowance::new(Duration::from_secs(10));

        allowance.settle(Duration::ZERO, 1 << 30);

        assert_eq!(allowance.left(), Duration::from_secs(10));
    }
}
