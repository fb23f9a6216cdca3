//! Limits how often something may be done from one IP address.

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
use library::clock::Clock;

use super::hour_bucket::ElapsedClock;

/// Up to this number of buckets, none is dropped.
const MIN_SWEPT_BUCKETS: usize = 10_000;
/// The bits of an IPv6 address that identify its network. The holder of a network chooses the others freely.
const IPV6_PREFIX_BITS: u32 = 64;

/// One token bucket for each IP address, full at first and refilled evenly.
pub struct IpRateLimiter {
    buckets: RateLimiter<IpAddr, DefaultKeyedStateStore<IpAddr>, ElapsedClock, NoOpMiddleware<Nanos>>,
    clock: Arc<dyn Clock>,
    /// Above this number of buckets, full ones are dropped.
    sweep_threshold: AtomicUsize,
}

impl IpRateLimiter {
    /// Allows this number within a minute.
    pub fn per_minute(limit: u32, clock: Arc<dyn Clock>) -> Self {
        Self::new(Quota::per_minute(NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN)), clock)
    }

    /// Allows this number within an hour.
    pub fn per_hour(limit: u32, clock: Arc<dyn Clock>) -> Self {
        Self::new(Quota::per_hour(NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN)), clock)
    }

    fn new(quota: Quota, clock: Arc<dyn Clock>) -> Self {
        let buckets =
            RateLimiter::new(quota, DefaultKeyedStateStore::default(), ElapsedClock::new(clock.clone()));
        Self { buckets, clock, sweep_threshold: AtomicUsize::new(MIN_SWEPT_BUCKETS) }
    }

    /// Counts one for this IP address. Nothing is limited where the address is unknown.
    ///
    /// # Errors
    /// The time until the next one is allowed, as a [`Duration`].
    pub fn admit(&self, ip_address: Option<IpAddr>) -> Result<(), Duration> {
        let Some(ip_address) = ip_address else { return Ok(()) };
        // A sweep looks at every bucket, so the next one waits until there are twice as many as this one leaves.
        if self.buckets.len() > self.sweep_threshold.load(Ordering::Relaxed) {
            self.buckets.retain_recent();
            self.sweep_threshold.store(MIN_SWEPT_BUCKETS.max(2 * self.buckets.len()), Ordering::Relaxed);
        }
        self.buckets.check_key(&network(ip_address)).map_err(|not_until| {
            let now: Nanos = self.clock.elapsed().into();
            not_until.earliest_possible().duration_since(now).into()
        })
    }
}

/// Returns the part of an IP address that its holder cannot choose: all of an IPv4 address, the first 64 bits of an IPv6 address. An
/// IPv4 address that is mapped into IPv6 is the same as the IPv4 address.
pub fn network(ip_address: IpAddr) -> IpAddr {
    match ip_address.to_canonical() {
        IpAddr::V6(address) => {
            let mask = u128::MAX << (u128::BITS - IPV6_PREFIX_BITS);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
        plain @ IpAddr::V4(_) => plain,
    }
}

#[cfg(test)]
mod tests {
    use library::clock::TestClock;
    use values::time::Timestamp;

    use super::*;

    fn ip(address: &str) -> Option<IpAddr> {
        address.parse().ok()
    }

    #[test]
    fn addresses_of_an_ipv6_network_share_a_bucket() {
        let limiter = IpRateLimiter::per_minute(1, Arc::new(TestClock::at(Timestamp::from_millis(0))));

        assert!(limiter.admit(ip("2001:db8::1")).is_ok());
        assert!(limiter.admit(ip("2001:db8::ffff:1")).is_err());
        assert!(limiter.admit(ip("2001:db8:0:1::1")).is_ok());
        assert!(limiter.admit(ip("192.0.2.1")).is_ok());
        assert!(limiter.admit(ip("::ffff:192.0.2.1")).is_err());
        assert!(limiter.admit(ip("192.0.2.2")).is_ok());
    }
}
