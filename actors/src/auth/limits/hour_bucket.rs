//! The hourly limit of one key or grant: a token bucket (GCRA) that is full at first and refills evenly over the hour.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as GovernorClock, Reference};
use governor::middleware::StateInformationMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use library::clock::Clock;

const HOUR: Duration = Duration::from_secs(3600);

/// The monotonic time of the server's clock, for governor.
#[derive(Clone)]
pub struct ElapsedClock(Arc<dyn Clock>);

impl ElapsedClock {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(clock)
    }
}

impl GovernorClock for ElapsedClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

type Bucket = RateLimiter<NotKeyed, InMemoryState, ElapsedClock, StateInformationMiddleware>;

/// A bucket, and its state after the last call: governor cannot be read without taking a call.
pub struct HourBucket {
    bucket: Bucket,
    clock: Arc<dyn Clock>,
    limit: NonZeroU32,
    /// Calls that were left after the last one, and when that was.
    left: u32,
    taken_at: Duration,
    /// Calls that were used beyond a lowered limit, and when it was lowered. They count again when the limit rises.
    excess: (u32, Duration),
}

impl HourBucket {
    /// Returns a full bucket. A limit of 0 counts as 1.
    pub fn new(limit: u32, clock: Arc<dyn Clock>) -> Self {
        let limit = NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN);
        let taken_at = clock.elapsed();
        Self {
            bucket: bucket(limit, clock.clone()),
            clock,
            limit,
            left: limit.get(),
            taken_at,
            excess: (0, taken_at),
        }
    }

    /// Takes a call, and returns how many are left. A refused call takes none.
    ///
    /// # Errors
    /// The time until the next call is allowed, as a [`Duration`].
    pub fn take(&mut self) -> Result<u32, Duration> {
        match self.bucket.check() {
            Ok(state) => {
                (self.left, self.taken_at) = (state.remaining_burst_capacity(), self.clock.elapsed());
                Ok(self.left)
            }
            Err(not_until) => {
                let now: Nanos = self.clock.elapsed().into();
                Err(not_until.earliest_possible().duration_since(now).into())
            }
        }
    }

    /// Returns the calls that are left now.
    pub fn left(&self) -> u32 {
        let since = self.clock.elapsed().saturating_sub(self.taken_at);
        let refilled = since.as_nanos() / self.interval().as_nanos().max(1);
        self.left.saturating_add(u32::try_from(refilled).unwrap_or(u32::MAX)).min(self.limit.get())
    }

    /// Returns the time until the bucket is full again.
    pub fn reset(&self) -> Duration {
        self.reset_from(self.left())
    }

    /// Returns the time until the bucket is full again, if this many calls are left now.
    pub fn reset_from(&self, left: u32) -> Duration {
        self.interval() * self.limit.get().saturating_sub(left)
    }

    /// Returns the time until the next call is allowed, as far as the last call tells.
    pub fn wait(&self) -> Duration {
        let since = self.clock.elapsed().saturating_sub(self.taken_at);
        if self.left() == 0 { self.interval().saturating_sub(since) } else { Duration::ZERO }
    }

    /// Returns whether [`Self::set_limit`] with this limit changes nothing.
    pub fn has_limit(&self, limit: u32) -> bool {
        limit == self.limit.get() || limit == 0
    }

    /// Changes the limit. Calls that were used stay used.
    pub fn set_limit(&mut self, limit: u32) {
        if self.has_limit(limit) {
            return;
        }
        // Calls beyond the new limit are remembered. Otherwise a key whose limit is lowered and raised again would have a full bucket.
        let used = (self.limit.get() - self.left()).saturating_add(self.remaining_excess());
        *self = Self::new(limit, self.clock.clone());
        self.excess = (used.saturating_sub(limit), self.taken_at);
        if let Some(used) = NonZeroU32::new(used.min(limit)) {
            let taken = self.bucket.check_n(used);
            self.left = if matches!(taken, Ok(Ok(_))) { limit - used.get() } else { 0 };
        }
    }

    /// Returns the calls beyond the limit that still count: they expire evenly within an hour.
    fn remaining_excess(&self) -> u32 {
        let (used, since) = self.excess;
        let rest = HOUR.saturating_sub(self.clock.elapsed().saturating_sub(since));
        let rest = u128::from(used) * rest.as_nanos() / HOUR.as_nanos();
        u32::try_from(rest).unwrap_or(used)
    }

    fn interval(&self) -> Duration {
        HOUR / self.limit.get()
    }
}

fn bucket(limit: NonZeroU32, clock: Arc<dyn Clock>) -> Bucket {
    let quota = Quota::with_period(HOUR / limit.get()).map(|quota| quota.allow_burst(limit));
    let quota = quota.unwrap_or_else(|| Quota::per_hour(limit));
    RateLimiter::direct_with_clock(quota, ElapsedClock(clock)).with_middleware()
}

#[cfg(test)]
mod tests {
    use library::clock::TestClock;
    use values::time::Timestamp;

    use super::*;

    fn hour(limit: u32) -> (Arc<TestClock>, HourBucket) {
        let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
        (clock.clone(), HourBucket::new(limit, clock))
    }

    #[test]
    fn bucket_is_full_at_first_and_refills_evenly() {
        let (clock, mut hour) = hour(3);

        assert_eq!([hour.take(), hour.take(), hour.take()], [Ok(2), Ok(1), Ok(0)]);
        assert_eq!(hour.take(), Err(Duration::from_secs(1200)));
        assert_eq!(hour.reset(), HOUR);

        clock.advance(Duration::from_secs(1200));
        assert_eq!(hour.left(), 1);
        assert_eq!(hour.take(), Ok(0));
    }

    #[test]
    fn changed_limit_keeps_used_calls() {
        let (_, mut hour) = hour(10);
        for _ in 0..4 {
            hour.take().unwrap();
        }

        hour.set_limit(6);
        assert_eq!(hour.left(), 2);
        assert_eq!([hour.take(), hour.take()], [Ok(1), Ok(0)]);
        assert!(hour.take().is_err());

        hour.set_limit(8);
        assert_eq!(hour.left(), 2);
    }

    proptest::proptest! {
        #[test]
        fn no_period_admits_more_than_the_bucket_and_its_refill(
            limit in 1_u32..50,
            pauses in proptest::collection::vec(0_u64..400, 1..200),
        ) {
            let (clock, mut hour) = hour(limit);
            let mut admitted = 0_u64;
            for pause in &pauses {
                clock.advance(Duration::from_secs(*pause));
                admitted += u64::from(hour.take().is_ok());
            }
            let refilled = pauses.iter().sum::<u64>() * u64::from(limit) / 3600;
            proptest::prop_assert!(admitted <= u64::from(limit) + refilled + 1);
        }
    }

    #[test]
    fn limit_that_is_lowered_and_raised_gives_nothing_back() {
        let (clock, mut hour) = hour(600);
        for _ in 0..500 {
            hour.take().unwrap();
        }

        hour.set_limit(1);
        assert!(hour.take().is_err());
        hour.set_limit(600);
        assert_eq!(hour.left(), 100);

        hour.set_limit(1);
        clock.advance(HOUR);
        hour.set_limit(600);
        assert_eq!(hour.left(), 600);
    }
}
