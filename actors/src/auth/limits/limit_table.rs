//! The buckets of the hour and the counts of the day. The threads of requests take from them in place, and the actor of limits creates,
//! reads, writes and sweeps them.
//!
//! A thread may take a call only from a bucket and a counter that exist, with the limit that they have, on the day whose rows the actor
//! has read. Whatever else a call needs, the actor does. The bucket and the counter of a call are behind one lock, so that a call which
//! either refuses counts in neither.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use entity::usage_day;
use errors::{RateLimitExceeded, RateWindow};
use library::clock::Clock;
use values::id::{UsageCounterId, UserId};
use values::kind::MeteredSurface;
use values::time::{Day, Timestamp};

use super::day_counts::{DayCounter, DayCounts};
use super::hour_bucket::HourBucket;
use super::quota::Quota;
use super::rate_limit_request::RateLimitRequest;
use crate::auth::caller::Principal;
use crate::user_shards::UserShards;
use crate::write_behind::WriteLock;

const SHARDS: usize = 64;
/// No day: the actor decides every call.
const CLOSED: i64 = i64::MIN;

/// Whose calls a counter counts.
pub type CounterKey = (UserId, MeteredSurface, Day);

/// The rows of counters that are to be written: each counter, and all calls that it counted.
pub type CountBatch = HashMap<CounterKey, (UsageCounterId, i64)>;

#[derive(Default)]
struct LimitShard {
    hours: HashMap<Principal, HourBucket>,
    counts: HashMap<CounterKey, DayCounter>,
}

/// The limits of all callers of this process.
pub struct LimitTable {
    clock: Arc<dyn Clock>,
    shards: UserShards<LimitShard>,
    /// The end of the day on which threads take calls themselves, in milliseconds since 1970, or [`CLOSED`].
    open_until: AtomicI64,
    write_lock: WriteLock,
}

impl LimitTable {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let shards = UserShards::new(SHARDS);
        Self { clock, shards, open_until: AtomicI64::new(CLOSED), write_lock: WriteLock::default() }
    }

    /// Returns the lock that is held during each write of counts, by the actor of limits or of the activity: an older number
    /// must not replace a newer one.
    pub fn write_lock(&self) -> WriteLock {
        self.write_lock.clone()
    }

    /// Lets threads take calls of this day. Its rows must have been merged before.
    pub fn open(&self, day: Day) {
        self.open_until.store(day.end().millis(), Ordering::SeqCst);
    }

    /// Leaves every call to the actor.
    pub fn close(&self) {
        self.open_until.store(CLOSED, Ordering::SeqCst);
    }

    /// Closes the table and drops all buckets and counters, for an actor that starts.
    pub fn clear(&self) {
        self.close();
        for mut shard in self.shards.lock_each() {
            *shard = LimitShard::default();
        }
    }

    /// Returns whether threads may take calls of this day. It is asked under the lock of a shard: once [`Self::clear`] has dropped the
    /// shard, no thread counts in it.
    fn is_open(&self, day: Day) -> bool {
        self.open_until.load(Ordering::SeqCst) == day.end().millis()
    }

    /// Admits a call and counts it, or refuses it; `None` if the actor has to decide, because it is not ready, the day is another, or
    /// the bucket or the counter does not exist or has another limit.
    pub fn try_admit(
        &self,
        request: &RateLimitRequest,
        now: Timestamp,
    ) -> Option<Result<Quota, RateLimitExceeded>> {
        let mut shard = self.shards.lock(request.user);
        if !self.is_open(now.day()) {
            return None;
        }
        let LimitShard { hours, counts } = &mut *shard;
        let hour = hours.get_mut(&request.bucket).filter(|hour| hour.has_limit(request.hourly))?;
        let day = counts.get_mut(&(request.user, request.surface, now.day()))?;
        Some(take(hour, day, request, now))
    }

    /// Admits a call and counts it, or refuses it. Creates the bucket and the counter if they do not exist.
    pub fn admit(&self, request: &RateLimitRequest, now: Timestamp) -> Result<Quota, RateLimitExceeded> {
        let mut shard = self.shards.lock(request.user);
        let LimitShard { hours, counts } = &mut *shard;
        let hour = hour_of(hours, &self.clock, request.bucket, request.hourly);
        let key = (request.user, request.surface, now.day());
        let day = counts.entry(key).or_insert_with(|| DayCounter::new(now));
        take(hour, day, request, now)
    }

    /// Returns the counts of a user on a day; `None` unless the table is open on this day.
    pub fn try_counts(&self, user: UserId, day: Day) -> Option<DayCounts> {
        let shard = self.shards.lock(user);
        self.is_open(day).then(|| shard.counts_of(user, day))
    }

    /// Returns the counts of a user on a day, as far as they are in memory.
    pub fn counts_of(&self, user: UserId, day: Day) -> DayCounts {
        self.shards.lock(user).counts_of(user, day)
    }

    /// Returns the calls that are left of a bucket's hour; `None` if the actor has to create the bucket, or to change its limit.
    pub fn try_remaining(&self, user: UserId, bucket: Principal, hourly: u32) -> Option<u32> {
        let shard = self.shards.lock(user);
        if !self.is_open(self.clock.now().day()) {
            return None;
        }
        let hour = shard.hours.get(&bucket).filter(|hour| hour.has_limit(hourly))?;
        Some(hour.left())
    }

    /// Returns the calls that are left of a bucket's hour. Creates the bucket if it does not exist.
    pub fn remaining(&self, user: UserId, bucket: Principal, hourly: u32) -> u32 {
        let mut shard = self.shards.lock(user);
        hour_of(&mut shard.hours, &self.clock, bucket, hourly).left()
    }

    /// Returns the counters whose rows may lack some of their calls.
    pub fn unwritten(&self) -> CountBatch {
        let mut batch = CountBatch::new();
        for shard in self.shards.lock_each() {
            let unwritten = shard.counts.iter();
            batch.extend(unwritten.filter_map(|(key, count)| Some((*key, (count.id(), count.unwritten()?)))));
        }
        batch
    }

    /// Records that a batch was written, and adds what other counters of its users and days have written.
    pub fn record_written(&self, batch: CountBatch, rows: Vec<usage_day::Model>) {
        for (key, (counter, calls)) in batch {
            let mut shard = self.shards.lock(key.0);
            // The actor may have restarted meanwhile. The counter that is there now has its own row, which this write did not touch.
            if let Some(count) = shard.counts.get_mut(&key).filter(|count| count.id() == counter) {
                count.mark_written(calls);
            }
        }
        self.merge_rows(rows);
    }

    /// Adds what other counters have written.
    pub fn merge_rows(&self, rows: Vec<usage_day::Model>) {
        let (now, mut others) = (self.clock.now(), HashMap::<CounterKey, i64>::new());
        for row in rows {
            let key = (row.user_id, row.surface, row.day);
            let mut shard = self.shards.lock(row.user_id);
            let own = shard.counts.entry(key).or_insert_with(|| DayCounter::new(now));
            if row.counter_id != own.id() {
                *others.entry(key).or_default() += row.calls;
            }
        }
        for (key, calls) in others {
            if let Some(count) = self.shards.lock(key.0).counts.get_mut(&key) {
                count.merge_others(calls);
            }
        }
    }

    /// Drops full buckets, which are the same as new ones, and counters of days that are not kept.
    pub fn sweep(&self, keeps_day: impl Fn(Day) -> bool) {
        for mut shard in self.shards.lock_each() {
            shard.hours.retain(|_, hour| !hour.reset().is_zero());
            // Unwritten calls are kept whatever their day: the next flush writes them.
            let is_kept = |day: Day, count: &DayCounter| keeps_day(day) && count.total() > 0;
            shard.counts.retain(|(.., day), count| count.unwritten().is_some() || is_kept(*day, count));
        }
    }

    /// Counts a call without its limits.
    #[cfg(test)]
    pub fn count(&self, key: CounterKey, weight: u32) {
        let now = self.clock.now();
        let mut shard = self.shards.lock(key.0);
        shard.counts.entry(key).or_insert_with(|| DayCounter::new(now)).count(weight);
    }
}

impl LimitShard {
    fn counts_of(&self, user: UserId, day: Day) -> DayCounts {
        let total = |surface| self.counts.get(&(user, surface, day)).map_or(0, DayCounter::total);
        DayCounts { rest: total(MeteredSurface::Rest), mcp: total(MeteredSurface::Mcp) }
    }
}

/// Takes a call of the hour and counts it in the day, if both have room.
fn take(
    hour: &mut HourBucket,
    day: &mut DayCounter,
    request: &RateLimitRequest,
    now: Timestamp,
) -> Result<Quota, RateLimitExceeded> {
    let to_midnight = now.day().end().since(now);
    if !day.has_room(request.weight, request.daily) {
        let retry_after = to_midnight.max(hour.wait());
        return Err(RateLimitExceeded {
            limit: request.daily,
            window: RateWindow::Day,
            retry_after,
            reset: to_midnight,
        });
    }
    let left = match hour.take() {
        Ok(left) => left,
        Err(retry_after) => {
            return Err(RateLimitExceeded {
                limit: request.hourly,
                window: RateWindow::Hour,
                retry_after,
                reset: hour.reset(),
            });
        }
    };
    day.count(request.weight);
    let of_hour = Quota { limit: request.hourly, remaining: left, reset: hour.reset_from(left) };
    let of_day = Quota {
        limit: request.daily,
        remaining: request.daily.saturating_sub(day.total()),
        reset: to_midnight,
    };
    Ok(if of_day.remaining < of_hour.remaining { of_day } else { of_hour })
}

fn hour_of<'a>(
    hours: &'a mut HashMap<Principal, HourBucket>,
    clock: &Arc<dyn Clock>,
    bucket: Principal,
    hourly: u32,
) -> &'a mut HourBucket {
    let hour = hours.entry(bucket).or_insert_with(|| HourBucket::new(hourly, clock.clone()));
    hour.set_limit(hourly);
    hour
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use library::clock::TestClock;
    use values::id::KeyId;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);
    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn request(hourly: u32, daily: u32) -> RateLimitRequest {
        RateLimitRequest {
            bucket: Principal::Key(KeyId::new(NOON)),
            hourly,
            user: UserId::new(NOON),
            surface: MeteredSurface::Rest,
            daily,
            weight: 1,
        }
    }

    /// A table that is open today, and in which the actor has admitted one call of this request.
    fn open_table(request: &RateLimitRequest) -> (Arc<TestClock>, LimitTable) {
        let clock = Arc::new(TestClock::at(NOON));
        let table = LimitTable::new(clock.clone());
        table.admit(request, NOON).unwrap();
        table.open(NOON.day());
        (clock, table)
    }

    fn remaining(table: &LimitTable, request: &RateLimitRequest) -> u32 {
        table.remaining(request.user, request.bucket, request.hourly)
    }

    /// Admits calls on several threads at once. Returns how many were admitted.
    fn admit_on_threads(table: &LimitTable, request: &RateLimitRequest) -> usize {
        let admitted = || (0..100).filter(|_| matches!(table.try_admit(request, NOON), Some(Ok(_)))).count();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(admitted)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        })
    }

    #[test]
    fn threads_together_stay_within_both_limits() {
        for (hourly, daily) in [(50, 1_000), (1_000, 50)] {
            let request = request(hourly, daily);
            let (_, table) = open_table(&request);

            assert_eq!(admit_on_threads(&table, &request), 49);

            assert_eq!(table.counts_of(request.user, NOON.day()).rest, 50);
            assert_eq!(remaining(&table, &request), hourly - 50);
        }
    }

    #[test]
    fn call_that_one_limit_refuses_counts_in_neither() {
        let narrow = request(1, 100);
        let (_, table) = open_table(&narrow);

        let by_hour = table.try_admit(&narrow, NOON).unwrap().unwrap_err();
        assert_eq!((by_hour.window, by_hour.limit), (RateWindow::Hour, 1));
        assert_eq!(table.counts_of(narrow.user, NOON.day()).rest, 1);

        let heavy = request(100, 2);
        let (_, table) = open_table(&heavy);
        let by_day =
            table.try_admit(&RateLimitRequest { weight: 2, ..heavy.clone() }, NOON).unwrap().unwrap_err();
        assert_eq!((by_day.window, by_day.reset), (RateWindow::Day, DAY / 2));
        assert_eq!(remaining(&table, &heavy), 99);
    }

    #[test]
    fn quota_of_a_taken_call_is_that_of_the_nearest_limit() {
        let by_hour = request(10, 1_000);
        let (_, table) = open_table(&by_hour);
        let quota = table.try_admit(&by_hour, NOON).unwrap().unwrap();
        assert_eq!(quota, Quota { limit: 10, remaining: 8, reset: Duration::from_secs(720) });

        let by_day = request(1_000, 10);
        let (_, table) = open_table(&by_day);
        let quota = table.try_admit(&by_day, NOON).unwrap().unwrap();
        assert_eq!(quota, Quota { limit: 10, remaining: 8, reset: DAY / 2 });
    }

    #[test]
    fn actor_decides_misses_new_limits_and_other_days() {
        let request = request(10, 100);
        let (clock, table) = open_table(&request);
        let tomorrow = NOON + DAY;
        let others = [
            RateLimitRequest { bucket: Principal::Key(KeyId::new(NOON)), ..request.clone() },
            RateLimitRequest { hourly: 11, ..request.clone() },
            RateLimitRequest { surface: MeteredSurface::Mcp, ..request.clone() },
        ];

        assert!(others.iter().all(|other| table.try_admit(other, NOON).is_none()));
        assert!(table.try_admit(&request, tomorrow).is_none());
        assert!(table.try_counts(request.user, tomorrow.day()).is_none());
        assert!(table.try_remaining(request.user, request.bucket, 11).is_none());
        assert_eq!(table.try_remaining(request.user, request.bucket, 10), Some(9));
        clock.advance(DAY);
        assert!(table.try_remaining(request.user, request.bucket, 10).is_none());
        table.close();
        assert!(table.try_admit(&request, NOON).is_none());
    }

    #[test]
    fn cleared_table_admits_nothing_until_it_is_opened() {
        let request = request(3, 100);
        let (_, table) = open_table(&request);
        table.try_admit(&request, NOON).unwrap().unwrap();

        table.clear();
        assert!(table.try_admit(&request, NOON).is_none());
        assert!(table.unwritten().is_empty());
        table.open(NOON.day());

        assert!(table.try_admit(&request, NOON).is_none());
        assert_eq!(table.admit(&request, NOON).unwrap().remaining, 2);
    }

    #[test]
    fn write_of_a_dropped_counter_marks_nothing_of_the_new_one() {
        let request = request(100, 100);
        let (_, table) = open_table(&request);
        table.try_admit(&request, NOON).unwrap().unwrap();
        let of_dropped = table.unwritten();

        table.clear();
        table.admit(&request, NOON).unwrap();
        table.record_written(of_dropped, Vec::new());

        assert_eq!(table.unwritten().into_values().map(|(_, calls)| calls).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn sweep_keeps_used_buckets_and_unwritten_counts() {
        let request = request(10, 100);
        let (clock, table) = open_table(&request);

        table.sweep(|_| false);
        assert_eq!(table.try_remaining(request.user, request.bucket, 10), Some(9));
        table.record_written(table.unwritten(), Vec::new());
        clock.advance(Duration::from_secs(3600));
        table.sweep(|_| false);

        assert_eq!(table.try_remaining(request.user, request.bucket, 10), None);
        assert_eq!(table.counts_of(request.user, NOON.day()), DayCounts::default());
    }
}
