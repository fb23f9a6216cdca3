//! How often something may be done from one address.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::Reference;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

use super::hour::HourClock;
use crate::clock::Clock;

/// Above so many addresses, those that did nothing for long are forgotten.
const REMEMBERED: usize = 10_000;

/// A bucket for each address: its full number at once, refilled evenly.
pub struct Addresses {
    buckets: RateLimiter<IpAddr, DefaultKeyedStateStore<IpAddr>, HourClock, NoOpMiddleware<Nanos>>,
    clock: Arc<dyn Clock>,
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
        Self { buckets, clock }
    }

    /// Takes one of this address, or says how long until there is one. Where no address is known there is no limit.
    pub fn take(&self, address: Option<IpAddr>) -> Result<(), Duration> {
        let Some(address) = address else { return Ok(()) };
        if self.buckets.len() > REMEMBERED {
            self.buckets.retain_recent();
        }
        self.buckets.check_key(&address).map_err(|not_until| {
            let now: Nanos = self.clock.elapsed().into();
            not_until.earliest_possible().duration_since(now).into()
        })
    }
}
