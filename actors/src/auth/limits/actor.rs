//! The actor of rate limits: it owns the hourly buckets of keys and grants, and the counts of the day, which it shares with the threads of
//! requests ([`super::limit_table`]).
//!
//! Counts are written once a second and at the drain, and together with the activity, each as an absolute number in the row of its
//! counter. So a batch whose COMMIT was not answered can be written again and still counts once. The usage of a day is the sum of its
//! rows. No call is admitted before the rows of today have been read. Each day has its own counts, so a clock that jumps back over
//! midnight resets none ([`super::day_counts`]).
//!
//! A crash loses the counts of at most a second, and the hourly buckets start full.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, AtomicResponse, Context, Handler, Message, ResponseActFuture,
    fut::{ready, wrap_future},
};
use database::Db;
use entity::usage_day;
use errors::{Error, RateLimitExceeded, RateWindow};
use library::clock::Clock;
use sea_orm::{ColumnTrait, QueryFilter};
use tracing::warn;
use values::id::UserId;
use values::time::Day;

use super::count_rows::write_counts;
use super::day_counts::{DayChange, DayCounts, RecentDays};
use super::limit_table::{CountBatch, LimitTable};
use super::quota::Quota;
use super::rate_limit_request::RateLimitRequest;
use crate::auth::caller::Principal;
use crate::auth::existing_users::lock_existing_users;
use crate::write_behind::{Flush, WriteBehind, WriteFuture, WriteLock};

// A crash loses at most the counts of this time.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Full buckets are dropped this often: they are the same as new ones.
const SWEEP_INTERVAL: Duration = Duration::from_secs(300);
/// A call on an earlier day than before may be retried after this time, once the rows of the day have been read.
const DAY_READ_DELAY: Duration = Duration::from_secs(1);

/// The actor of rate limits.
pub struct LimitActor {
    db: Db,
    clock: Arc<dyn Clock>,
    table: Arc<LimitTable>,
    days: RecentDays,
}

impl LimitActor {
    /// Creates the actor, for which the table is cleared: what an actor that crashed left in it may lack the rows of today.
    pub(super) fn new(db: Db, clock: Arc<dyn Clock>, table: Arc<LimitTable>) -> Self {
        table.clear();
        Self { db, clock, table, days: RecentDays::default() }
    }

    /// Makes this day today. If its counts are not in memory, no further message is handled before its rows were read.
    fn enter_day(&mut self, day: Day, context: &mut Context<Self>) -> DayChange {
        let entered = self.days.enter(day);
        match entered {
            DayChange::Known => self.table.open(day),
            DayChange::Later | DayChange::Earlier => {
                let read = self.read_day(day);
                context.wait(read.map(|_, _: &mut Self, _: &mut Context<Self>| ()));
            }
        }
        entered
    }

    /// Reads the counts of the day that has just begun. Nothing may be counted until this completes.
    fn read_day(&self, day: Day) -> ResponseActFuture<Self, Result<(), Error>> {
        self.table.close();
        let db = self.db.clone();
        let read = async move {
            usage_day::Entity::of_every_user().filter(usage_day::Column::Day.eq(day)).all(db.read()).await
        };
        Box::pin(wrap_future::<_, Self>(read).map(move |rows, actor, _| match rows {
            Ok(rows) => {
                actor.table.merge_rows(rows);
                actor.table.open(day);
                Ok(())
            }
            // The supervisor restarts the actor, which reads again: counting from zero would grant the daily limit twice.
            Err(error) if actor.days.is_only(day) => panic_for_restart(&error),
            Err(error) => {
                warn!(%error, "could not read the request counts of the new day");
                // The next call reads it.
                actor.days.forget(day);
                Err(Error::from(error))
            }
        }))
    }
}

impl Drop for LimitActor {
    fn drop(&mut self) {
        // While there is no actor, calls are refused, as nothing would write what they count.
        self.table.close();
    }
}

impl WriteBehind for LimitActor {
    type Batch = CountBatch;
    /// All rows of the users and days of the batch.
    type Output = Vec<usage_day::Model>;
    const BATCH_NAME: &'static str = "the counts of the day";

    fn write_lock(&self) -> WriteLock {
        self.table.write_lock()
    }

    fn take_batch(&mut self) -> CountBatch {
        self.table.unwritten()
    }

    fn write(&self, batch: CountBatch) -> WriteFuture<CountBatch, Self::Output> {
        let db = self.db.clone();
        Box::pin(async move {
            let written = write(&db, &batch).await;
            (batch, written)
        })
    }

    fn on_written(&mut self, batch: CountBatch, rows: Self::Output) {
        self.table.record_written(batch, rows);
    }

    /// The counters hold the calls until they are marked as written.
    fn put_back(&mut self, _: CountBatch) {}
}

#[expect(clippy::panic, reason = "the supervisor turns it into a restart")]
fn panic_for_restart(error: &sea_orm::DbErr) -> ! {
    panic!("could not read today's counts: {error}");
}

/// Writes the rows of the counters, and returns all rows of their users and days, also those of other processes.
async fn write(db: &Db, batch: &CountBatch) -> Result<Vec<usage_day::Model>, Error> {
    if batch.is_empty() {
        return Ok(Vec::new());
    }
    let txn = db.begin().await?;
    let users: HashSet<UserId> = batch.keys().map(|(user, ..)| *user).collect();
    let existing = lock_existing_users(&txn, users).await?;
    let rows = write_counts(&txn, batch, &existing).await?;
    txn.commit().await?;
    Ok(rows)
}

impl Actor for LimitActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.enter_day(self.clock.now().day(), context);
        Self::flush_every(context, FLUSH_INTERVAL);
        context.run_interval(SWEEP_INTERVAL, |actor, _| {
            actor.table.sweep(|day| actor.days.contains(day));
        });
    }
}

/// Admits a call and counts it. Sent where [`LimitTable::try_admit`] does not decide.
#[derive(Message)]
#[rtype(result = "Result<Quota, RateLimitExceeded>")]
pub struct Admission(pub RateLimitRequest);

impl Handler<Admission> for LimitActor {
    type Result = Result<Quota, RateLimitExceeded>;

    fn handle(&mut self, Admission(request): Admission, context: &mut Self::Context) -> Self::Result {
        let now = self.clock.now();
        if self.enter_day(now.day(), context) == DayChange::Earlier {
            let reset = now.day().end().since(now);
            return Err(RateLimitExceeded {
                limit: request.daily,
                window: RateWindow::Day,
                retry_after: DAY_READ_DELAY,
                reset,
            });
        }
        self.table.admit(&request, now)
    }
}

/// Requests today's counts of a user. If the day has just begun or the clock was set back, they are read first.
#[derive(Message)]
#[rtype(result = "Result<DayCounts, Error>")]
pub struct DayCountsQuery(pub UserId);

impl Handler<DayCountsQuery> for LimitActor {
    type Result = AtomicResponse<Self, Result<DayCounts, Error>>;

    fn handle(&mut self, DayCountsQuery(user): DayCountsQuery, _: &mut Self::Context) -> Self::Result {
        let day = self.clock.now().day();
        let read: ResponseActFuture<Self, Result<(), Error>> = match self.days.enter(day) {
            DayChange::Known => {
                self.table.open(day);
                Box::pin(ready(Ok::<(), Error>(())))
            }
            DayChange::Later | DayChange::Earlier => self.read_day(day),
        };
        // Atomic: nothing is counted on the new day before its rows were read.
        let answer = move |read: Result<(), Error>, actor: &mut Self, _: &mut Context<Self>| {
            read.map(|()| actor.table.counts_of(user, day))
        };
        AtomicResponse::new(Box::pin(read.map(answer)))
    }
}

/// Requests the calls that are left of a bucket's hour. They do not depend on the day, but a day that has just begun is opened, so that
/// the next request needs no message.
#[derive(Message)]
#[rtype(result = "u32")]
pub struct RemainingQuery {
    pub(super) user: UserId,
    pub(super) bucket: Principal,
    pub(super) hourly: u32,
}

impl Handler<RemainingQuery> for LimitActor {
    type Result = u32;

    fn handle(&mut self, request: RemainingQuery, context: &mut Self::Context) -> Self::Result {
        self.enter_day(self.clock.now().day(), context);
        self.table.remaining(request.user, request.bucket, request.hourly)
    }
}

impl Handler<Flush> for LimitActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}

#[cfg(test)]
mod tests;
