//! The actor of limits: the buckets of keys and connections, and today's counts.
//!
//! Counts are added to their rows once a second and at the drain; nobody is admitted before today's rows have been read.
//! After a crash at most a second's counts are lost, and the hours start full.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorFutureExt, AsyncContext, Context, Handler, Message, ResponseActFuture, fut::wrap_future,
};
use entity::id::UserId;
use entity::kind::Surface;
use entity::time::Day;
use entity::{usage_day, user};
use sea_orm::sea_query::{Expr, ExprTrait, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};

use super::day::DayCount;
use super::hour::Hour;
use super::{Ask, Counts, Quota};
use crate::caller::Via;
use crate::clock::Clock;
use crate::db::Db;
use crate::error::{Error, Wait};
use crate::kit::{Flush, Gathers, Turn, Write};

const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Full buckets say nothing that a new one would not: they are dropped now and then.
const SWEEP_EVERY: Duration = Duration::from_secs(300);

type Calls = HashMap<(UserId, Surface, Day), i64>;

/// See the file's head.
pub struct LimitActor {
    db: Db,
    clock: Arc<dyn Clock>,
    hours: HashMap<Via, Hour>,
    days: HashMap<(UserId, Surface), DayCount>,
    /// Of days that are over, or of a write that failed.
    left: Calls,
    turn: Turn,
}

impl LimitActor {
    pub(super) fn new(db: Db, clock: Arc<dyn Clock>) -> Self {
        Self {
            db,
            clock,
            hours: HashMap::new(),
            days: HashMap::new(),
            left: HashMap::new(),
            turn: Turn::default(),
        }
    }

    fn admit(&mut self, ask: Ask) -> Result<Quota, Wait> {
        let now = self.clock.now();
        let to_midnight = now.day().end().since(now);
        let hour = hour_of(&mut self.hours, &self.clock, ask.bucket, ask.hourly);
        let day = self.days.entry((ask.user, ask.surface)).or_insert_with(|| DayCount::new(now, 0));
        if !day.has_room(now, ask.weight, ask.daily) {
            let retry_after = to_midnight.max(hour.wait());
            return Err(Wait { limit: ask.daily, retry_after, reset: to_midnight });
        }
        if let Err(retry_after) = hour.take() {
            return Err(Wait { limit: ask.hourly, retry_after, reset: hour.reset() });
        }
        if let Some((over, unwritten)) = day.count(now, ask.weight) {
            *self.left.entry((ask.user, ask.surface, over)).or_default() += unwritten;
        }
        let of_hour = Quota { limit: ask.hourly, remaining: hour.left(), reset: hour.reset() };
        let of_day = Quota {
            limit: ask.daily,
            remaining: ask.daily.saturating_sub(day.total(now)),
            reset: to_midnight,
        };
        Ok(if of_day.remaining < of_hour.remaining { of_day } else { of_hour })
    }

    /// Reads today's rows; until then nobody is answered.
    fn read_today(&mut self, context: &mut Context<Self>) {
        let (db, now) = (self.db.clone(), self.clock.now());
        let read = async move {
            usage_day::Entity::find().filter(usage_day::Column::Day.eq(now.day())).all(db.read()).await
        };
        context.wait(wrap_future::<_, Self>(read).map(move |rows, actor, _| match rows {
            Ok(rows) => {
                for row in rows {
                    actor.days.insert((row.user_id, row.surface), DayCount::new(now, row.calls));
                }
            }
            // The keeper starts a fresh one, which reads again: counting from nothing would give the day anew.
            Err(error) => panic_for_restart(&error),
        }));
    }
}

impl Gathers for LimitActor {
    type Gathered = Calls;
    type Told = Calls;
    const WHAT: &'static str = "the counts of the day";

    fn turn(&self) -> Turn {
        self.turn.clone()
    }

    fn take(&mut self) -> Calls {
        let mut unwritten = std::mem::take(&mut self.left);
        for ((user, surface), count) in &mut self.days {
            if let Some((day, calls)) = count.take() {
                *unwritten.entry((*user, *surface, day)).or_default() += calls;
            }
        }
        unwritten
    }

    fn write(&self, unwritten: Calls) -> Write<Calls, Calls> {
        let db = self.db.clone();
        Box::pin(async move {
            let written = write(&db, &unwritten).await;
            (unwritten, written)
        })
    }

    fn written(&mut self, totals: Calls) {
        for ((user, surface, day), total) in totals {
            if let Some(count) = self.days.get_mut(&(user, surface)) {
                count.learn(day, total);
            }
        }
    }

    fn put_back(&mut self, unwritten: Calls) {
        for (of, calls) in unwritten {
            *self.left.entry(of).or_default() += calls;
        }
    }
}

#[expect(clippy::panic, reason = "the keeper turns it into a restart")]
fn panic_for_restart(error: &sea_orm::DbErr) {
    panic!("could not read today's counts: {error}");
}

fn hour_of<'a>(
    hours: &'a mut HashMap<Via, Hour>,
    clock: &Arc<dyn Clock>,
    bucket: Via,
    hourly: u32,
) -> &'a mut Hour {
    let hour = hours.entry(bucket).or_insert_with(|| Hour::new(hourly, clock.clone()));
    hour.set_limit(hourly);
    hour
}

/// Adds the counts to their rows; what the rows then hold, which other nodes may have added to.
async fn write(db: &Db, unwritten: &Calls) -> Result<Calls, Error> {
    let mut totals = HashMap::new();
    if unwritten.is_empty() {
        return Ok(totals);
    }
    let txn = db.begin().await?;
    let users = existing(&txn, unwritten.keys().map(|(user, _, _)| *user).collect()).await?;
    // In one order everywhere, or two nodes could wait for each other's rows.
    let mut unwritten: Vec<_> = unwritten.iter().collect();
    unwritten.sort_unstable_by_key(|((user, surface, _), _)| (user.0, surface.name()));
    for ((user, surface, day), calls) in unwritten {
        // Nobody is left to count for.
        if !users.contains(user) {
            continue;
        }
        let row = usage_day::Model { user_id: *user, day: *day, surface: *surface, calls: *calls };
        let key = [usage_day::Column::UserId, usage_day::Column::Day, usage_day::Column::Surface];
        let sum = Expr::col((usage_day::Entity, usage_day::Column::Calls)).add(*calls);
        let add = OnConflict::columns(key).value(usage_day::Column::Calls, sum).to_owned();
        let written = usage_day::Entity::insert(row.into_active_model())
            .on_conflict(add)
            .exec_with_returning(&txn)
            .await?;
        totals.insert((*user, *surface, *day), written.calls);
    }
    txn.commit().await?;
    Ok(totals)
}

/// Which of these users there still are; their rows are held, so that none goes before the counts are written.
async fn existing(txn: &impl ConnectionTrait, users: HashSet<UserId>) -> Result<HashSet<UserId>, Error> {
    let there = user::Entity::find().filter(user::Column::Id.is_in(users)).lock_shared();
    Ok(there.all(txn).await?.into_iter().map(|row| row.id).collect())
}

impl Actor for LimitActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        self.read_today(context);
        Self::flush_every(context, FLUSH_EVERY);
        context.run_interval(SWEEP_EVERY, |actor, _| {
            let now = actor.clock.now();
            actor.hours.retain(|_, hour| !hour.reset().is_zero());
            actor.days.retain(|_, count| count.total(now) > 0 || count.has_unwritten());
        });
    }
}

/// Lets a call in.
#[derive(Message)]
#[rtype(result = "Result<Quota, Wait>")]
pub struct Admit(pub Ask);

impl Handler<Admit> for LimitActor {
    type Result = Result<Quota, Wait>;

    fn handle(&mut self, Admit(ask): Admit, _: &mut Self::Context) -> Self::Result {
        self.admit(ask)
    }
}

/// Today's counts of a user.
#[derive(Message)]
#[rtype(result = "Counts")]
pub struct Today(pub UserId);

impl Handler<Today> for LimitActor {
    type Result = actix::MessageResult<Today>;

    fn handle(&mut self, Today(user): Today, _: &mut Self::Context) -> Self::Result {
        let now = self.clock.now();
        let total = |surface| self.days.get(&(user, surface)).map_or(0, |count| count.total(now));
        actix::MessageResult(Counts { rest: total(Surface::Rest), mcp: total(Surface::Mcp) })
    }
}

/// What is left of a bucket's hour.
#[derive(Message)]
#[rtype(result = "u32")]
pub struct Remaining {
    pub(super) bucket: Via,
    pub(super) hourly: u32,
}

impl Handler<Remaining> for LimitActor {
    type Result = u32;

    fn handle(&mut self, asked: Remaining, _: &mut Self::Context) -> Self::Result {
        hour_of(&mut self.hours, &self.clock, asked.bucket, asked.hourly).left()
    }
}

impl Handler<Flush> for LimitActor {
    type Result = ResponseActFuture<Self, Result<(), Error>>;

    fn handle(&mut self, _: Flush, _: &mut Self::Context) -> Self::Result {
        self.flush()
    }
}
