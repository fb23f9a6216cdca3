//! Failed authentications by address: 20 within a minute, then 429 for that address and only for failing requests
//! (contract.md, section 3).

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
use crate::error::Error;

/// Above so many addresses, those that did nothing for long are forgotten.
const REMEMBERED: usize = 10_000;

/// Counts failures by address.
pub struct Failures {
    buckets: RateLimiter<IpAddr, DefaultKeyedStateStore<IpAddr>, HourClock, NoOpMiddleware<Nanos>>,
    clock: Arc<dyn Clock>,
}

impl Failures {
    /// Lets so many fail within a minute.
    pub fn new(a_minute: u32, clock: Arc<dyn Clock>) -> Self {
        let quota = Quota::per_minute(NonZeroU32::new(a_minute).unwrap_or(NonZeroU32::MIN));
        let buckets =
            RateLimiter::new(quota, DefaultKeyedStateStore::default(), HourClock::of(clock.clone()));
        Self { buckets, clock }
    }

    /// Notes a failure of this address; the error that it is answered with.
    pub fn failed(&self, address: Option<IpAddr>) -> Error {
        let Some(address) = address else { return Error::KeyInvalid };
        if self.buckets.len() > REMEMBERED {
            self.buckets.retain_recent();
        }
        match self.buckets.check_key(&address) {
            Ok(()) => Error::KeyInvalid,
            Err(not_until) => {
                let now: Nanos = self.clock.elapsed().into();
                let wait: Duration = not_until.earliest_possible().duration_since(now).into();
                Error::TooManyFailures(wait)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use entity::time::Timestamp;

    use super::*;
    use crate::clock::TestClock;

    #[test]
    fn the_twenty_first_failure_of_an_address_is_told_to_wait_and_another_address_is_not() {
        let failures = Failures::new(20, Arc::new(TestClock::at(Timestamp::from_millis(0))));
        let (here, there) = ("127.0.0.3".parse().ok(), "127.0.0.4".parse().ok());

        for _ in 0..20 {
            assert!(matches!(failures.failed(here), Error::KeyInvalid));
        }

        assert!(matches!(failures.failed(here), Error::TooManyFailures(wait) if wait.as_secs() < 60));
        assert!(matches!(failures.failed(there), Error::KeyInvalid));
    }
}
