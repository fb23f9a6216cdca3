//! The memory of answers whose readers are slow.
//!
//! What is encoded of an answer is bounded for each connection, but an answer in memory of which only the beginning is
//! encoded can have megabytes. Once its reader leaves no room to write, its rest counts for a budget with shares. A connection
//! whose rest finds no room there is closed, unless its reader goes on at once.

use std::sync::Arc;
use std::time::Duration;

use crate::http::budget::{Budget, Hold, Sender, Shares};

/// The rest of an answer that counts for nothing. With what is encoded it is at most 64 KiB.
pub const FREE_BYTES: usize = 32 << 10;
/// Memory of all such rests. A page of a hundred notes of full length has some 10 MB. Strangers get short answers, and those that
/// are in memory once for all.
const SHARES: Shares =
    Shares { total: 160 << 20, reserve: 32 << 20, account: 32 << 20, network: 8 << 20, strangers: 32 << 20 };
/// A peer whose answer finds no room in the budget may leave no room to write in for so long: those that read all the time are
/// not closed because others do not.
pub const MAX_UNHELD: Duration = Duration::from_millis(250);
/// A peer that takes less than this uses its allowance up.
const MIN_BYTES_PER_SECOND: u64 = 8 << 10;
/// The bytes that are held.
const GAUGE: &str = "carrel_slow_readers_bytes";

/// The budget, for all workers together. Clones share it.
#[derive(Clone, Debug)]
pub struct UnsentAnswers(Arc<Budget>);

impl UnsentAnswers {
    /// An unused budget.
    pub fn new() -> Self {
        Self(Budget::new(SHARES))
    }

    /// What one connection holds of it; nothing at first.
    pub fn hold(&self, sender: Sender) -> UnsentHold {
        UnsentHold { hold: self.0.hold(sender) }
    }
}

/// What one connection holds of the budget; given back when this is dropped.
#[derive(Debug)]
pub struct UnsentHold {
    hold: Hold,
}

impl UnsentHold {
    /// Takes what a rest of this length needs more; whether there is room for it.
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

/// How long a peer may still leave no room to write in. It earns time by what it takes, so one that takes a little now and then
/// is told from one that is slow.
#[derive(Clone, Copy, Debug)]
pub struct WriteAllowance {
    max: Duration,
    left: Duration,
}

impl WriteAllowance {
    /// All of it is left.
    pub fn new(max: Duration) -> Self {
        Self { max, left: max }
    }

    /// The time that is left.
    pub fn left(&self) -> Duration {
        self.left
    }

    /// Bytes were written after this time without room.
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
    fn short_rest_of_an_answer_counts_for_nothing() {
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
    fn one_address_holds_its_share_and_leaves_room_to_others() {
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
    fn peer_below_the_least_rate_uses_its_allowance_up() {
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
