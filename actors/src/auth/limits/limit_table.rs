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
mod tests;
