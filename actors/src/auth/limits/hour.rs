//! The hour of one key or connection: a bucket (GCRA) that gives its full number at once and refills evenly over the hour.

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

/// Our clock, as governor reads one.
#[derive(Clone)]
pub struct HourClock(Arc<dyn Clock>);

impl HourClock {
    /// Reads this clock.
    pub fn of(clock: Arc<dyn Clock>) -> Self {
        Self(clock)
    }
}

impl GovernorClock for HourClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.elapsed().into()
    }
}

type Bucket = RateLimiter<NotKeyed, InMemoryState, HourClock, StateInformationMiddleware>;

/// One bucket, and what it said last: governor cannot be looked at without taking.
pub struct Hour {
    bucket: Bucket,
    clock: Arc<dyn Clock>,
    limit: NonZeroU32,
    left: u32,
    seen: Duration,
    /// What was used beyond a lowered limit, and when it was lowered: it counts again when the limit rises.
    beyond: (u32, Duration),
}

impl Hour {
    /// A full bucket; a limit of nothing is taken for one.
    pub fn new(limit: u32, clock: Arc<dyn Clock>) -> Self {
        let limit = NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN);
        let seen = clock.elapsed();
        Self {
            bucket: bucket(limit, clock.clone()),
            clock,
            limit,
            left: limit.get(),
            seen,
            beyond: (0, seen),
        }
    }

    /// Takes one; how many are left, or how long until there is one.
    pub fn take(&mut self) -> Result<u32, Duration> {
        match self.bucket.check() {
            Ok(state) => {
                (self.left, self.seen) = (state.remaining_burst_capacity(), self.clock.elapsed());
                Ok(self.left)
            }
            Err(not_until) => {
                let now: Nanos = self.clock.elapsed().into();
                Err(not_until.earliest_possible().duration_since(now).into())
            }
        }
    }

    /// How many are left now.
    pub fn left(&self) -> u32 {
        let since = self.clock.elapsed().saturating_sub(self.seen);
        let refilled = since.as_nanos() / self.interval().as_nanos().max(1);
        self.left.saturating_add(u32::try_from(refilled).unwrap_or(u32::MAX)).min(self.limit.get())
    }

    /// How long until the bucket is full again.
    pub fn reset(&self) -> Duration {
        self.interval() * (self.limit.get() - self.left())
    }

    /// How long until there is one, as far as was seen.
    pub fn wait(&self) -> Duration {
        let since = self.clock.elapsed().saturating_sub(self.seen);
        if self.left() == 0 { self.interval().saturating_sub(since) } else { Duration::ZERO }
    }

    /// Another limit from now on; what was used stays used.
    pub fn set_limit(&mut self, limit: u32) {
        if limit == self.limit.get() || limit == 0 {
            return;
        }
        let used = (self.limit.get() - self.left()).saturating_add(self.still_beyond());
        *self = Self::new(limit, self.clock.clone());
        self.beyond = (used.saturating_sub(limit), self.seen);
        if let Some(used) = NonZeroU32::new(used.min(limit)) {
            let taken = self.bucket.check_n(used);
            self.left = if matches!(taken, Ok(Ok(_))) { limit - used.get() } else { 0 };
        }
    }

    /// What was used beyond the limit is forgotten evenly within an hour.
    fn still_beyond(&self) -> u32 {
        let (used, since) = self.beyond;
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
    RateLimiter::direct_with_clock(quota, HourClock(clock)).with_middleware()
}

#[cfg(test)]
mod tests {
    use entity::time::Timestamp;

    use super::*;
    use library::clock::TestClock;

    fn hour(limit: u32) -> (Arc<TestClock>, Hour) {
        let clock = Arc::new(TestClock::at(Timestamp::from_millis(0)));
        (clock.clone(), Hour::new(limit, clock))
    }

    #[test]
    fn the_full_number_is_there_at_once_and_then_one_each_part_of_the_hour() {
        let (clock, mut hour) = hour(3);

        assert_eq!([hour.take(), hour.take(), hour.take()], [Ok(2), Ok(1), Ok(0)]);
        assert_eq!(hour.take(), Err(Duration::from_secs(1200)));
        assert_eq!(hour.reset(), HOUR);

        clock.advance(Duration::from_secs(1200));
        assert_eq!(hour.left(), 1);
        assert_eq!(hour.take(), Ok(0));
    }

    #[test]
    fn another_limit_keeps_what_was_used() {
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
        fn no_stretch_of_time_admits_more_than_the_bucket_and_its_refill(
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
    fn a_limit_that_goes_down_and_up_again_gives_nothing_back() {
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
