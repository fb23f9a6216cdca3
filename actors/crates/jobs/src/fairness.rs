//! Whose turn it is: due work runs in the order of its turns, and one user's work takes ever later ones.
//!
//! A job's turn is one after the last that its user waits for, but never before the turn that is up now. So users who
//! wait take turns, however much one of them asked for, and somebody who comes new is next. (Start-time fair queueing:
//! Goyal, Vin, Cheng 1996, with every job of one size.) What serves all who follow a feed takes turns as one more user,
//! in whoever's name it is done. Turns compare within a track and a priority.

use database::Db;
use entity::id::UserId;
use entity::job::{Column, Entity};
use entity::kind::JobState;
use entity::time::Timestamp;
use sea_orm::sea_query::{Expr, LockBehavior, LockType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select,
};

use super::JobKind;

/// JobKind whose wait is over gets its turn so many at a time.
const AT_ONCE: u64 = 200;

/// The turn of a user's next job of this kind.
pub async fn next(
    db: &impl ConnectionTrait,
    user: UserId,
    kind: &str,
    (track, priority): (i16, i16),
) -> Result<i64, DbErr> {
    let waiting = waiting().filter(Column::Track.eq(track)).filter(Column::Priority.eq(priority));
    let up = turn_of(db, waiting.clone().order_by_asc(Column::Turn)).await?.unwrap_or(0);
    // Spelled out, as in the partial index.
    let own = match JobKind::named(kind).is_some_and(JobKind::serves_all) {
        true => waiting.filter(Expr::cust("kind IN ('poll', 'subscribe')")),
        false => {
            waiting.filter(Column::UserId.eq(user)).filter(Expr::cust("kind NOT IN ('poll', 'subscribe')"))
        }
    };
    let last = own.order_by_desc(Column::Turn);
    Ok(turn_of(db, last).await?.map_or(0, |turn| turn.saturating_add(1)).max(up))
}

async fn turn_of(db: &impl ConnectionTrait, first: Select<Entity>) -> Result<Option<i64>, DbErr> {
    let turn = first.select_only().column(Column::Turn).limit(1).into_tuple::<Option<i64>>().one(db).await?;
    Ok(turn.flatten())
}

fn waiting() -> Select<Entity> {
    // As it stands in the partial indexes, so that both databases see that these hold all of it.
    Entity::find().filter(Expr::cust("state = 'queued' AND turn IS NOT NULL"))
}

/// Gives a turn to work that was put back for later and whose time has come.
pub async fn promote(db: &Db, now: Timestamp) -> Result<(), DbErr> {
    let due = Entity::find()
        .filter(Expr::cust("state = 'queued' AND turn IS NULL"))
        .filter(Column::RunAt.lte(now))
        .order_by_asc(Column::RunAt)
        .limit(AT_ONCE);
    if due.clone().one(db.read()).await?.is_none() {
        return Ok(());
    }
    let txn = db.begin().await?;
    // It locks jobs of many users, so it never waits for one: a job that is locked gets its turn at the next call.
    let due = due.lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
    for job in due.all(&txn).await? {
        let turn = next(&txn, job.user_id, &job.kind, (job.track, job.priority)).await?;
        Entity::update_many()
            .col_expr(Column::Turn, Expr::value(turn))
            .filter(Column::Id.eq(job.id))
            .filter(Column::State.eq(JobState::Queued))
            .filter(Column::Turn.is_null())
            .filter(Column::RunAt.lte(now))
            .exec(&txn)
            .await?;
    }
    txn.commit().await
}
