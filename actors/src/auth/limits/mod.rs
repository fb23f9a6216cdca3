//! Rate limits: how often a caller may call (spec.md: Limits; contract.md, sections 2, 3 and 11).
//!
//! A call first checks the limit of the day without counting, then takes one call of the hour, and then counts its weight in the
//! day. So a call that either limit refuses counts in neither.
//!
//! The thread of a request takes the call itself. Only a call whose bucket or counter does not exist or has another limit, or that is
//! the first of a day, waits for the actor.

mod actor;
mod auth_failures;
mod count_rows;
mod count_write;
mod day_counts;
mod hour_bucket;
mod ip_rate_limiter;
mod limit_table;
mod quota;
mod rate_limit_request;

use std::sync::Arc;
use std::time::Duration;

use actix::ArbiterHandle;
use database::Db;
use entity::usage_day;
use errors::{Error, RateLimitExceeded};
use library::clock::Clock;
use runtime::{Port, SupervisorConfig, supervise};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use values::id::UserId;
use values::time::Timestamp;

use crate::auth::caller::Principal;
use crate::write_behind::Flush;
use actor::{Admission, DayCountsQuery, LimitActor, RemainingQuery};
use limit_table::LimitTable;

pub use auth_failures::AuthFailures;
pub(crate) use count_write::CountWrite;
pub use day_counts::DayCounts;
pub use ip_rate_limiter::{IpRateLimiter, network};
pub use quota::Quota;
pub use rate_limit_request::RateLimitRequest;

/// Time for which the counts of a day are kept. Only those of today are read, but a clock that is wrong by months and is corrected must
/// find the counts of its day.
const DAY_COUNT_RETENTION: Duration = Duration::from_secs(400 * 24 * 3600);

/// Deletes the counts of all users of days that ended more than 400 days ago. Each start of a process adds rows to its day.
pub async fn sweep(db: &Db, now: Timestamp) -> Result<(), Error> {
    // The index `usage_day_day` finds them.
    let is_past = usage_day::Column::Day.lt((now - DAY_COUNT_RETENTION).day());
    usage_day::Entity::delete_many().filter(is_past).exec(db.write()).await?;
    Ok(())
}

/// Handle of the actor that counts calls, with the table that it shares. Clones share both.
#[derive(Clone)]
pub struct RateLimits {
    clock: Arc<dyn Clock>,
    table: Arc<LimitTable>,
    port: Port<LimitActor>,
}

impl RateLimits {
    /// Starts the actor. No call is admitted before it has read today's counts.
    pub fn start(on: &ArbiterHandle, db: Db, clock: Arc<dyn Clock>) -> Self {
        let config = SupervisorConfig { name: "limits", permits: 1024, timeout: Duration::from_secs(8) };
        let table = Arc::new(LimitTable::new(clock.clone()));
        let (actor_clock, actor_table) = (clock.clone(), table.clone());
        let port = supervise(on, config, move || {
            LimitActor::new(db.clone(), actor_clock.clone(), actor_table.clone())
        });
        Self { clock, table, port }
    }

    /// Admits a call and counts it.
    ///
    /// # Errors
    /// [`Error::RateLimited`] with the time to wait; [`Error::Busy`] when the actor does not answer in time.
    pub async fn admit(&self, request: RateLimitRequest) -> Result<Quota, Error> {
        let admitted: Result<Quota, RateLimitExceeded> =
            match self.table.try_admit(&request, self.clock.now()) {
                Some(admitted) => admitted,
                None => self.port.ask(Admission(request)).await?,
            };
        admitted.map_err(Error::RateLimited)
    }

    /// Returns today's counts of a user.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time; [`Error::Internal`] when the counts of a new day cannot be read.
    pub async fn today(&self, user: UserId) -> Result<DayCounts, Error> {
        match self.table.try_counts(user, self.clock.now().day()) {
            Some(counts) => Ok(counts),
            None => self.port.ask(DayCountsQuery(user)).await?,
        }
    }

    /// Returns the calls that are left of the hour of a user's bucket, without taking any.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time.
    pub async fn remaining(&self, user: UserId, bucket: Principal, hourly: u32) -> Result<u32, Error> {
        match self.table.try_remaining(user, bucket, hourly) {
            Some(remaining) => Ok(remaining),
            None => Ok(self.port.ask(RemainingQuery { user, bucket, hourly }).await?),
        }
    }

    /// Begins a write of the counts that are in memory alone, for a transaction that writes other data of the same calls; `None` if there
    /// are none, or if they are being written.
    pub(crate) fn begin_write(&self) -> Option<CountWrite> {
        CountWrite::begin(&self.table)
    }

    /// Writes the counts that are in memory alone.
    ///
    /// # Errors
    /// [`Error::Busy`] when the actor does not answer in time.
    pub async fn flush(&self) -> Result<(), Error> {
        self.port.ask(Flush).await?
    }

    /// Returns the actor's port, for health checks and the drain.
    pub fn port(&self) -> &Port<LimitActor> {
        &self.port
    }
}
