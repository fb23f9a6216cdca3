//! Claims: a try takes a due job under a lease.
//!
//! A claim raises `attempts` in the transaction that takes the row, so a job that kills its process is counted, and given
//! up after its last try too. Each claim writes a fencing token of its own: whoever lost the lease finds another one there
//! and changes nothing more.

use std::collections::HashSet;

use entity::id::JobId;
use entity::job::{Column, Entity, Model};
use entity::kind::JobState;
use entity::time::Timestamp;
use sea_orm::sea_query::{Expr, LockBehavior, LockType, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select,
};
use sea_orm::{SqlErr, sea_query::SimpleExpr};

use super::{LEASE, MOST_ATTEMPTS, Priority, Track};
use crate::db::Db;

/// Whose work comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Favour {
    /// What a person waits for.
    Waiting,
    /// One job of the backlog, if there is any: else those who always want something more would keep it waiting for ever.
    Backlog,
}

/// What a claim took.
#[derive(Debug, Default)]
pub struct Claimed {
    /// Jobs to be run.
    pub jobs: Vec<Model>,
    /// Jobs whose last try died with its process: to be given up.
    pub dead: Vec<Model>,
}

/// Takes up to `most` due jobs of a track under a lease: first those whose lease is over, then those whose turn it is. Two
/// jobs never work on one subject at a time, or the slower of them could put an older version over a newer one.
pub async fn claim(
    db: &Db,
    track: Track,
    favour: Favour,
    now: Timestamp,
    most: u64,
) -> Result<Claimed, DbErr> {
    // A look without a lock first: mostly there is nothing.
    let (over, up) = (over(track, now), up(track));
    if over.clone().one(db.read()).await?.is_none() && up.clone().one(db.read()).await?.is_none() {
        return Ok(Claimed::default());
    }
    let from = match favour {
        Favour::Waiting => vec![(over, most), (up, most)],
        Favour::Backlog => {
            let backlog = up.clone().filter(Column::Priority.eq(Priority::Backlog.number()));
            vec![(over, most), (backlog, 1), (up, most)]
        }
    };
    match take(db, from, now, most).await {
        // Another node took a job of the same subject at the same moment: the next look finds what is left.
        Err(error) if matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))) => {
            Ok(Claimed::default())
        }
        taken => taken,
    }
}

async fn take(
    db: &Db,
    from: Vec<(Select<Entity>, u64)>,
    now: Timestamp,
    most: u64,
) -> Result<Claimed, DbErr> {
    let txn = db.begin().await?;
    let (mut claimed, mut subjects) = (Claimed::default(), HashSet::new());
    for (some, at_most) in from {
        let left = most.saturating_sub(claimed.jobs.len() as u64).min(at_most);
        let jobs =
            some.limit(left).lock_with_behavior(LockType::Update, LockBehavior::SkipLocked).all(&txn).await?;
        for job in jobs {
            if !subjects.insert(job.subject) {
                continue;
            }
            if job.state == JobState::Running && job.attempts >= MOST_ATTEMPTS {
                claimed.dead.push(job);
            } else {
                claimed.jobs.push(lease(&txn, job, now).await?);
            }
        }
    }
    txn.commit().await?;
    Ok(claimed)
}

/// Running jobs whose lease is over.
fn over(track: Track, now: Timestamp) -> Select<Entity> {
    Entity::find()
        .filter(is(JobState::Running))
        .filter(Column::Track.eq(track.number()))
        .filter(Column::LeaseUntil.lt(now))
        .order_by_asc(Column::LeaseUntil)
}

/// Waiting jobs in the order of their turns, but for those whose subject is worked on. One whose worker died comes first,
/// on its own track: until then its subject waits, and nobody else's.
fn up(track: Track) -> Select<Entity> {
    let worked_on =
        Query::select().column(Column::Subject).from(Entity).and_where(is(JobState::Running)).to_owned();
    Entity::find()
        .filter(Expr::cust("state = 'queued' AND turn IS NOT NULL"))
        .filter(Column::Track.eq(track.number()))
        .filter(Column::Subject.not_in_subquery(worked_on))
        .order_by_asc(Column::Priority)
        .order_by_asc(Column::Turn)
        .order_by_asc(Column::Id)
}

/// Spelled out, as in the partial indexes.
fn is(state: JobState) -> SimpleExpr {
    Expr::cust(format!("state = '{}'", state.name()))
}

async fn lease(txn: &impl ConnectionTrait, mut job: Model, now: Timestamp) -> Result<Model, DbErr> {
    job.attempts += 1;
    job.state = JobState::Running;
    job.turn = None;
    job.lease_token = Some(JobId::new(now).0);
    Entity::update_many()
        .col_expr(Column::State, Expr::value(job.state))
        .col_expr(Column::Turn, Expr::value(job.turn))
        .col_expr(Column::Attempts, Expr::value(job.attempts))
        .col_expr(Column::LeaseToken, Expr::value(job.lease_token))
        .col_expr(Column::LeaseUntil, Expr::value(now + LEASE))
        .filter(Column::Id.eq(job.id))
        .exec(txn)
        .await?;
    Ok(job)
}
