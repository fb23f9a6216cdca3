//! Shares of the bytes that bodies of requests and unsent responses hold, so that a few accounts or addresses cannot take what all
//! others need.
//!
//! A share is smaller while others hold bytes: no account or address gets more than half of what the others leave. So one that
//! holds nothing always finds room, however many others hold all they can.
//!
//! That shrinking share, and bytes instead of slots, are what differs from a semaphore. Callers do not queue: of those that wait,
//! the first to find room has it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::{HttpMessage, HttpRequest};
use actors::auth::limits::network;
use errors::Error;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use values::id::UserId;

use super::peer;

/// A body, or an unsent response, of at most this many bytes may use the reserve, and needs only its share and the total.
pub const SMALL_HOLD_BYTES: usize = 64 << 10;
/// Bytes are acquired in pieces of this size.
const PIECE_BYTES: usize = 4 << 10;
/// An account or address over its share is asked to retry after this time.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The account or network address that sent a request. The bytes of the request's body and of its response count towards its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// An authenticated caller, by account.
    Account(UserId),
    /// A caller that is not authenticated, by network address.
    Network(IpAddr),
}

impl Sender {
    /// Returns the sender of a request that is not authenticated. Addresses of one IPv6 network are one sender.
    pub fn anonymous(address: Option<IpAddr>) -> Self {
        Self::Network(address.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), network))
    }

    /// Returns the account noted for this request, or else its network address.
    pub fn of(request: &HttpRequest) -> Self {
        let noted = request.extensions().get::<Self>().copied();
        noted.unwrap_or_else(|| Self::anonymous(peer::ip_address(request)))
    }

    /// Notes the account whose credential came with this request.
    pub fn note(request: &HttpRequest, user: UserId) {
        request.extensions_mut().insert(Self::Account(user));
    }
}

/// The sizes of a budget, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Bytes of all accounts and addresses together.
    pub total: usize,
    /// The part of `total` that is left for bodies and responses of at most [`SMALL_HOLD_BYTES`].
    pub reserve: usize,
    /// The maximum of one account.
    pub account: usize,
    /// The maximum of one network address that is not authenticated.
    pub network: usize,
    /// The maximum of all addresses together that are not authenticated.
    pub anonymous: usize,
}

#[derive(Debug, Default)]
struct Usage {
    total: usize,
    anonymous: usize,
    by_sender: HashMap<Sender, usize>,
}

/// Bytes that are shared among accounts and addresses.
#[derive(Debug)]
pub struct Budget {
    shares: Shares,
    usage: Mutex<Usage>,
    /// Notified when bytes are released.
    freed: Notify,
}

impl Budget {
    /// An unused budget of these sizes.
    pub fn new(shares: Shares) -> Arc<Self> {
        Arc::new(Self { shares, usage: Mutex::default(), freed: Notify::new() })
    }

    /// Returns the hold of one body or response of this account or address, which is empty at first.
    pub fn hold(self: &Arc<Self>, sender: Sender) -> BudgetHold {
        BudgetHold { budget: self.clone(), sender, bytes: 0 }
    }

    /// Returns the bytes that all accounts and addresses hold.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner).total
    }

    fn try_acquire(&self, sender: Sender, bytes: usize, size: HoldSize) -> bool {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let own = usage.by_sender.get(&sender).copied().unwrap_or_default();
        let others = usage.total.saturating_sub(own);
        let (share, anonymous) = match sender {
            Sender::Account(_) => (self.shares.account, usage.anonymous),
            Sender::Network(_) => (self.shares.network, usage.anonymous + bytes),
        };
        let own = own + bytes;
        let fits = match size {
            HoldSize::Small => others + own <= self.shares.total,
            // Half of what the others leave: see the module documentation.
            HoldSize::Large => own <= (self.shares.total - self.shares.reserve).saturating_sub(others) / 2,
        };
        if !fits || own > share || anonymous > self.shares.anonymous {
            return false;
        }
        usage.total += bytes;
        usage.anonymous = anonymous;
        usage.by_sender.insert(sender, own);
        true
    }

    fn release(&self, sender: Sender, bytes: usize) {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        usage.total = usage.total.saturating_sub(bytes);
        if matches!(sender, Sender::Network(_)) {
            usage.anonymous = usage.anonymous.saturating_sub(bytes);
        }
        if let Some(own) = usage.by_sender.get_mut(&sender) {
            *own = own.saturating_sub(bytes);
            // Senders without bytes leave the map, which would otherwise grow with every address.
            if *own == 0 {
                usage.by_sender.remove(&sender);
            }
        }
        drop(usage);
        // All of them: the one that has waited longest may need more than was released.
        self.freed.notify_waiters();
    }
}

/// The size of a body or response, which decides whether it may use the reserve.
#[derive(Clone, Copy, Debug)]
enum HoldSize {
    Small,
    Large,
}

/// The bytes of a budget that one body or response holds. They are released when this is dropped.
#[derive(Debug)]
pub struct BudgetHold {
    budget: Arc<Budget>,
    sender: Sender,
    bytes: usize,
}

impl BudgetHold {
    /// Acquires the additional bytes of a body or response of this length.
    ///
    /// # Errors
    /// [`Error::Busy`] when it is more than the share of the account or address, or more than others leave of the budget.
    pub fn grow_to(&mut self, length: usize) -> Result<(), Error> {
        let wanted = length.next_multiple_of(PIECE_BYTES);
        let more = wanted.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        let size = if wanted <= SMALL_HOLD_BYTES { HoldSize::Small } else { HoldSize::Large };
        if !self.budget.try_acquire(self.sender, more, size) {
            return Err(Error::Busy(RETRY_AFTER));
        }
        self.bytes = wanted;
        Ok(())
    }

    /// Waits until the budget allows the additional bytes of a body or response of this length.
    ///
    /// # Errors
    /// [`Error::Busy`] when it does not within `max_wait`.
    pub async fn grow_within(&mut self, length: usize, max_wait: Duration) -> Result<(), Error> {
        let deadline = Instant::now() + max_wait;
        loop {
            let budget = self.budget.clone();
            // Created before the attempt, so that bytes released in between are not missed.
            let freed = budget.freed.notified();
            if self.grow_to(length).is_ok() {
                return Ok(());
            }
            timeout_at(deadline, freed).await.map_err(|_| Error::Busy(max_wait))?;
        }
    }

    /// Returns the held bytes, a multiple of the size in which they are acquired.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases everything that is held.
    pub fn release(&mut self) {
        if self.bytes > 0 {
            self.budget.release(self.sender, std::mem::take(&mut self.bytes));
        }
    }
}

impl Drop for BudgetHold {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    const KIB: usize = 1 << 10;

    fn budget() -> Arc<Budget> {
        Budget::new(Shares {
            total: 1152 * KIB,
            reserve: 128 * KIB,
            account: 256 * KIB,
            network: 128 * KIB,
            anonymous: 192 * KIB,
        })
    }

    fn account() -> Sender {
        Sender::Account(UserId::new(values::time::Timestamp::from_millis(0)))
    }

    fn network(last: u8) -> Sender {
        Sender::anonymous(Some(IpAddr::from([192, 0, 2, last])))
    }

    /// Takes room for bodies of this length, as long as the sender gets it.
    fn take(budget: &Arc<Budget>, sender: Sender, length: usize) -> Vec<BudgetHold> {
        let mut held = Vec::new();
        loop {
            let mut hold = budget.hold(sender);
            if hold.grow_to(length).is_err() {
                return held;
            }
            held.push(hold);
        }
    }

    #[test]
    fn sender_over_its_share_is_refused_and_others_are_not() {
        let budget = budget();

        let held = take(&budget, account(), 128 * KIB);

        assert_eq!(held.len(), 2);
        assert_eq!(take(&budget, account(), 128 * KIB).len(), 2);
    }

    #[test]
    fn small_body_is_taken_while_large_ones_hold_the_rest() {
        let budget = budget();
        let large: Vec<_> = (0..3).map(|_| take(&budget, account(), 256 * KIB)).collect();
        assert_eq!(large.iter().map(Vec::len).sum::<usize>(), 3);
        let _half_of_the_rest = take(&budget, account(), 128 * KIB);

        assert!(budget.hold(account()).grow_to(128 * KIB).is_err());
        assert!(budget.hold(account()).grow_to(SMALL_HOLD_BYTES).is_ok());
    }

    #[test]
    fn account_gets_half_of_what_others_leave() {
        let budget = budget();

        let taken: Vec<_> = (0..6).map(|_| take_all(&budget, account())).collect();

        assert_eq!(
            taken.iter().map(BudgetHold::bytes).collect::<Vec<_>>(),
            [256, 256, 256, 128, 64, 64].map(|n| n * KIB)
        );
    }

    /// Takes as many bytes as the sender gets for one body.
    fn take_all(budget: &Arc<Budget>, sender: Sender) -> BudgetHold {
        let mut hold = budget.hold(sender);
        while hold.grow_to(hold.bytes() + PIECE_BYTES).is_ok() {}
        hold
    }

    #[test]
    fn anonymous_senders_leave_room_for_accounts() {
        let budget = budget();

        let held: Vec<_> = (1..=9).flat_map(|last| take(&budget, network(last), 64 * KIB)).collect();

        assert_eq!(held.len(), 3);
        assert_eq!(take(&budget, account(), 64 * KIB).len(), 4);
    }

    #[test]
    fn dropped_hold_releases_its_bytes() {
        let budget = budget();
        let mut hold = budget.hold(network(1));
        hold.grow_to(1).unwrap();
        hold.grow_to(128 * KIB).unwrap();
        assert!(budget.hold(network(1)).grow_to(1).is_err());

        drop(hold);

        assert_eq!(take(&budget, network(1), 128 * KIB).len(), 1);
        assert!(budget.usage.lock().unwrap().by_sender.is_empty());
    }

    #[actix_web::test]
    async fn sender_over_its_share_waits_for_its_own_bytes() {
        let budget = budget();
        let sender = account();
        let held = take(&budget, sender, 128 * KIB);
        let mut hold = budget.hold(sender);

        let mut waiting = Box::pin(hold.grow_within(128 * KIB, Duration::from_secs(3600)));
        assert!(poll!(&mut waiting).is_pending());
        drop(held);

        waiting.await.unwrap();
        assert!(matches!(hold.grow_within(512 * KIB, Duration::ZERO).await, Err(Error::Busy(_))));
    }

    #[test]
    fn one_ipv6_network_is_one_sender() {
        let of = |text: &str| Sender::anonymous(text.parse().ok());

        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    }
}
