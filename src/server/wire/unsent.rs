//! The memory of responses that have not been sent yet, and of long heads of their requests, whose buffers are kept meanwhile.
//!
//! The encoded part of a response is bounded for each connection, but a response in memory of which only the beginning is encoded can
//! have megabytes. Until it is encoded, such a response counts for its account, which gets no slot to build more responses while it
//! has too much of them ([`crate::http::response_slots`]). Once its reader blocks writing, it counts towards a budget with shares
//! too. If it exceeds the budget, the connection is closed, unless its reader continues at once: not all responses need a slot, and
//! many accounts can have slow readers.

use std::sync::Arc;
use std::time::Duration;

use crate::http::budget::{Budget, BudgetHold, Sender, Shares};
use crate::http::response_slots::{ResponseSlots, UnsentBytes};

/// A response of this size does not count, together with what the buffer of a long head takes ([`long_head_bytes`]). With the
/// encoded part and the usual buffers of the connection, which take 44 KiB, a slow reader costs at most 64 KiB that do not count.
pub const FREE_BYTES: usize = 20 << 10;
/// The buffer with which actix-http begins to read; it is among the usual buffers.
const READ_BUFFER_BYTES: usize = 8 << 10;
/// The buffer is doubled when less than this is free.
const MIN_FREE_READ_BUFFER_BYTES: usize = 1 << 10;
/// Memory of all longer responses whose readers are slow. The share of an account is larger than the unsent bytes with which it has
/// no more slots, for responses that were being built then: a page of a hundred notes of full length has about 10 MB. Strangers get
/// short responses, or ones whose memory is shared.
const SHARES: Shares =
    Shares { total: 256 << 20, reserve: 32 << 20, account: 48 << 20, network: 8 << 20, anonymous: 32 << 20 };
/// Time for which a peer may block writing when its response exceeds the budget: peers that read continuously are not
/// closed because others do not read.
pub const MAX_OVER_BUDGET_TIME: Duration = Duration::from_millis(250);
/// A peer that reads more slowly than this uses up its allowance.
const MIN_BYTES_PER_SECOND: u64 = 8 << 10;

/// Returns the gauge of the bytes of all longer responses, whether their readers are slow or not.
fn unsent_bytes_gauge() -> metrics::Gauge {
    metrics::gauge!("carrel_unsent_response_bytes")
}

/// Returns how much more than usual the buffer of a head of this length takes.
pub fn long_head_bytes(head_bytes: usize) -> usize {
    let buffer_bytes = (head_bytes + MIN_FREE_READ_BUFFER_BYTES).next_power_of_two();
    buffer_bytes.saturating_sub(READ_BUFFER_BYTES)
}

/// The memory of unsent responses, for all workers together. Clones share it.
#[derive(Clone, Debug)]
pub struct UnsentResponses {
    budget: Arc<Budget>,
    slots: ResponseSlots,
}

impl UnsentResponses {
    /// No responses, in front of these slots.
    pub fn new(slots: ResponseSlots) -> Self {
        Self { budget: Budget::new(SHARES), slots }
    }

    /// Returns the slots of accounts for building responses.
    pub fn slots(&self) -> &ResponseSlots {
        &self.slots
    }

    /// Counts the bytes of a response and of a long head for this caller; `None` if there are few.
    pub fn count(&self, caller: Sender, bytes: usize) -> Option<UnsentResponse> {
        if bytes <= FREE_BYTES {
            return None;
        }
        // A response without an account needs no slot, so there is none to delay.
        let of_account = match caller {
            Sender::Account(user) => Some(self.slots.count_unsent(user, bytes)),
            Sender::Network(_) => None,
        };
        unsent_bytes_gauge().increment(bytes as f64);
        // The hold is empty at first: the budget counts only responses whose readers are slow.
        Some(UnsentResponse { bytes, hold: self.budget.hold(caller), _of_account: of_account })
    }
}

/// A response that counts until this is dropped.
#[derive(Debug)]
pub struct UnsentResponse {
    bytes: usize,
    hold: BudgetHold,
    _of_account: Option<UnsentBytes>,
}

impl UnsentResponse {
    /// Returns the counted bytes of the response and of its long head.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether the budget allows the response to stay in memory. Acquires its bytes if so.
    pub fn is_allowed(&mut self) -> bool {
        self.hold.grow_to(self.bytes).is_ok()
    }
}

impl Drop for UnsentResponse {
    fn drop(&mut self) {
        unsent_bytes_gauge().decrement(self.bytes as f64);
    }
}

/// The time for which a peer may still block writing. It earns time by the bytes that it reads, which distinguishes a slow peer from
/// one that hardly reads at all.
#[derive(Clone, Copy, Debug)]
pub struct WriteAllowance {
    max: Duration,
    left: Duration,
}

impl WriteAllowance {
    /// Starts with the full allowance, which is also its maximum.
    pub fn new(max: Duration) -> Self {
        Self { max, left: max }
    }

    /// Returns the time for which the peer may still block.
    pub fn left(&self) -> Duration {
        self.left
    }

    /// Records that `written` bytes were written after writing was blocked for this time.
    pub fn settle(&mut self, blocked: Duration, written: usize) {
        let written = u64::try_from(written).unwrap_or(u64::MAX);
        let earned = Duration::from_millis(written.saturating_mul(1000) / MIN_BYTES_PER_SECOND);
        // Not above the maximum: a peer cannot save up time by reading fast at first.
        self.left = self.left.saturating_sub(blocked).saturating_add(earned).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use futures_util::FutureExt;
    use values::id::UserId;
    use values::time::Timestamp;

    use super::*;
    use crate::http::response_slots::MAX_UNSENT_BYTES;
    use crate::server::wire::scanner::MAX_HEAD_BYTES;

    const KIB: usize = 1 << 10;

    fn unsent() -> UnsentResponses {
        UnsentResponses::new(ResponseSlots::default())
    }

    #[test]
    fn short_response_does_not_count() {
        let (unsent, sender) = (unsent(), Sender::anonymous(None));

        assert!(unsent.count(sender, FREE_BYTES).is_none());
        let mut longer = unsent.count(sender, FREE_BYTES + 1).unwrap();
        assert!(longer.is_allowed());
        assert!(unsent.budget.held() > FREE_BYTES);
        drop(longer);
        assert_eq!(unsent.budget.held(), 0);
    }

    #[test]
    fn longest_head_takes_64_kib() {
        assert_eq!(long_head_bytes(7 * KIB), 0);
        assert_eq!(long_head_bytes(7 * KIB + 1), 8 * KIB);
        assert_eq!(long_head_bytes(MAX_HEAD_BYTES), 120 * KIB);
    }

    #[test]
    fn one_address_holds_at_most_its_share() {
        let unsent = unsent();
        let address = |last| Sender::anonymous(Some(IpAddr::from([192, 0, 2, last])));
        let mut responses: Vec<_> = (0..100).filter_map(|_| unsent.count(address(1), 1 << 20)).collect();

        let allowed =
            responses.iter_mut().map(UnsentResponse::is_allowed).filter(|is_allowed| *is_allowed).count();

        assert_eq!(allowed, SHARES.network >> 20);
        assert!(unsent.count(address(2), 1 << 20).unwrap().is_allowed());
    }

    #[actix_web::test]
    async fn account_with_too_many_unsent_responses_gets_no_slot() {
        let (unsent, user) = (unsent(), UserId::new(Timestamp::from_millis(0)));
        let has_slot = || unsent.slots().acquire(user).now_or_never().is_some();

        let responses: Vec<_> =
            (0..MAX_UNSENT_BYTES >> 20).map(|_| unsent.count(Sender::Account(user), 1 << 20)).collect();

        assert!(!has_slot());
        drop(responses);
        assert!(has_slot());
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
