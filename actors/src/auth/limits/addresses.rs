//! How often something may be done from one address.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use governor::clock::Reference;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

use super::hour::HourClock;
use library::clock::Clock;

/// So many addresses are remembered before those that did nothing for long are forgotten.
const REMEMBERED: usize = 10_000;
/// The part of an IPv6 address that its holder cannot choose: a network of this length is given to one of them.
const IPV6_PREFIX: u32 = 64;

/// A bucket for each address: its full number at once, refilled evenly.
pub struct Addresses {
    buckets: RateLimiter<IpAddr, DefaultKeyedStateStore<IpAddr>, HourClock, NoOpMiddleware<Nanos>>,
    clock: Arc<dyn Clock>,
    /// With so many buckets it is time to forget: twice as many as were left the last time.
    crowded: AtomicUsize,
}

impl Addresses {
    /// So many within a minute.
    pub fn a_minute(most: u32, clock: Arc<dyn Clock>) -> Self {
        Self::of(Quota::per_minute(NonZeroU32::new(most).unwrap_or(NonZeroU32::MIN)), clock)
    }

    /// So many within an hour.
    pub fn an_hour(most: u32, clock: Arc<dyn Clock>) -> Self {
        Self::of(Quota::per_hour(NonZeroU32::new(most).unwrap_or(NonZeroU32::MIN)), clock)
    }

    fn of(quota: Quota, clock: Arc<dyn Clock>) -> Self {
        let buckets =
            RateLimiter::new(quota, DefaultKeyedStateStore::default(), HourClock::of(clock.clone()));
        Self { buckets, clock, crowded: AtomicUsize::new(REMEMBERED) }
    }

    /// Takes one of this address, or says how long until there is one. Where no address is known there is no limit.
    pub fn take(&self, address: Option<IpAddr>) -> Result<(), Duration> {
        let Some(address) = address else { return Ok(()) };
        if self.buckets.len() > self.crowded.load(Ordering::Relaxed) {
            self.buckets.retain_recent();
            self.crowded.store(REMEMBERED.max(2 * self.buckets.len()), Ordering::Relaxed);
        }
        self.buckets.check_key(&network(address)).map_err(|not_until| {
            let now: Nanos = self.clock.elapsed().into();
            not_until.earliest_possible().duration_since(now).into()
        })
    }
}

/// Whose address it is, as far as it tells: an IPv6 address stands for its network.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let mask = u128::MAX << (u128::BITS - IPV6_PREFIX);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
        plain @ IpAddr::V4(_) => plain,
    }
}

#[cfg(test)]
mod tests {
    use entity::time::Timestamp;

    use super::*;
    use library::clock::TestClock;

    fn ip(address: &str) -> Option<IpAddr> {
        address.parse().ok()
    }

    #[test]
    fn all_addresses_of_an_ipv6_network_are_one() {
        let addresses = Addresses::a_minute(1, Arc::new(TestClock::at(Timestamp::from_millis(0))));

        assert!(addresses.take(ip("2001:db8::1")).is_ok());
        assert!(addresses.take(ip("2001:db8::ffff:1")).is_err());
        assert!(addresses.take(ip("2001:db8:0:1::1")).is_ok());
        assert!(addresses.take(ip("192.0.2.1")).is_ok());
        assert!(addresses.take(ip("::ffff:192.0.2.1")).is_err());
        assert!(addresses.take(ip("192.0.2.2")).is_ok());
    }
}
