//! Claims: a try takes a due job under a lease.
//!
//! A claim raises `attempts` in the transaction that takes the row, so a job that kills its process is counted, and given
//! up after its last try too. Each claim writes a fencing token of its own: whoever lost the lease finds another one there
//! and changes nothing more.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use database::Db;
use entity::id::{JobId, UserId};
use entity::job::{Column, Entity, Model};
use entity::kind::JobState;
use entity::time::Timestamp;
use sea_orm::sea_query::{Expr, LockBehavior, LockType, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select,
};
use sea_orm::{SqlErr, sea_query::SimpleExpr};
use uuid::Uuid;

use super::{LEASE, MOST_ATTEMPTS, MOST_DEATHS, Priority, Track, JobKind};

/// Whose work comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimOrder {
    /// What a person waits for.
    Waiting,
    /// One job of the backlog, if there is any: else those who always want something more would keep it waiting for ever.
    Backlog,
}

/// Who holds a lease: the id of a data folder, which only one living process has at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseOwner(pub Uuid);

/// What a claim took.
#[derive(Debug, Default)]
pub struct Claimed {
    /// Jobs to be run.
    pub jobs: Vec<Model>,
    /// Jobs whose last try died with its process: to be given up.
    pub dead: Vec<Model>,
}

/// The places of a track that are free.
#[derive(Clone, Debug, Default)]
pub struct SlotBudget {
    /// All of them.
    pub free: u64,
    /// How many of them a backlog may take.
    pub backlog: u64,
    /// How many each person may have, and who has how many.
    pub each: u64,
    /// Who has how many now.
    pub taken: HashMap<UserId, u64>,
    /// Whether jobs that change the index are left to another service.
    pub leaves_index: bool,
    /// Whether only jobs that delete are claimed, because the disk is below its floor.
    pub only_deletions: bool,
}

impl SlotBudget {
    /// So many, for whoever comes.
    pub fn any(free: u64) -> Self {
        Self { free, backlog: free, each: free, ..Self::default() }
    }

    /// Takes one for a job, where there is one.
    fn take(&mut self, job: &Model) -> bool {
        let is_backlog = Priority::of(job) == Priority::Backlog;
        let own = self.taken.entry(job.user_id).or_default();
        if self.free == 0 || *own >= self.each || (is_backlog && self.backlog == 0) {
            return false;
        }
        *own += 1;
        self.free -= 1;
        self.backlog -= u64::from(is_backlog);
        true
    }

    /// Restricts a query to the kinds of jobs that may be claimed.
    fn filter(&self, work: Select<Entity>) -> Select<Entity> {
        if !self.leaves_index && !self.only_deletions {
            return work;
        }
        let may_take = |work: &JobKind| {
            !(self.leaves_index && work.changes_index()) && (!self.only_deletions || work.only_deletes())
        };
        work.filter(Column::Kind.is_in(JobKind::ALL.into_iter().filter(may_take).map(JobKind::name)))
    }

    /// Those who have as many as they may.
    fn full(&self) -> Vec<UserId> {
        self.taken.iter().filter(|(_, taken)| **taken >= self.each).map(|(user, _)| *user).collect()
    }
}

/// Takes due jobs of a track under a lease, as many as there are places: first those whose lease is over, then those whose
/// turn it is. Two jobs never work on one subject at a time, or the slower of them could put an older version over a newer
/// one.
pub async fn claim(
    db: &Db,
    owner: LeaseOwner,
    track: Track,
    favour: ClaimOrder,
    now: Timestamp,
    places: SlotBudget,
) -> Result<Claimed, DbErr> {
    // A look without a lock first: mostly there is nothing.
    let (over, up) = (places.filter(over(track, now)), places.filter(up(track, &places.full())));
    if over.clone().one(db.read()).await?.is_none() && up.clone().one(db.read()).await?.is_none() {
        return Ok(Claimed::default());
    }
    let (all, backlog) = (places.free, places.backlog);
    let soon = up.clone().filter(Column::Priority.lt(Priority::Backlog.number()));
    let later = up.filter(Column::Priority.eq(Priority::Backlog.number()));
    let from = match favour {
        ClaimOrder::Waiting => vec![(over, all), (soon, all), (later, backlog)],
        ClaimOrder::Backlog => vec![(over, all), (later.clone(), 1.min(backlog)), (soon, all), (later, backlog)],
    };
    match take(db, owner, from, now, places).await {
        // Another node took a job of the same subject at the same moment: the next look finds what is left.
        Err(error) if matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))) => {
            Ok(Claimed::default())
        }
        taken => taken,
    }
}

async fn take(
    db: &Db,
    owner: LeaseOwner,
    from: Vec<(Select<Entity>, u64)>,
    now: Timestamp,
    mut places: SlotBudget,
) -> Result<Claimed, DbErr> {
    let txn = db.begin().await?;
    let (mut claimed, mut subjects) = (Claimed::default(), HashSet::new());
    for (some, at_most) in from {
        let left = places.free.min(at_most);
        let jobs =
            some.limit(left).lock_with_behavior(LockType::Update, LockBehavior::SkipLocked).all(&txn).await?;
        for job in jobs {
            if subjects.contains(&job.subject) {
                continue;
            }
            if job.state == JobState::Running && is_dead(&job) {
                subjects.insert(job.subject);
                claimed.dead.push(job);
            } else if places.take(&job) {
                subjects.insert(job.subject);
                claimed.jobs.push(lease(&txn, owner, job, now).await?);
            }
        }
    }
    txn.commit().await?;
    Ok(claimed)
}

/// Whether a job whose last try died is given up: it killed as many processes as it may, or has no tries left.
fn is_dead(job: &Model) -> bool {
    job.deaths + 1 >= MOST_DEATHS || job.attempts >= MOST_ATTEMPTS
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
/// on its own track: until then its subject waits, and nobody else's. Nothing of those who have places enough.
fn up(track: Track, full: &[UserId]) -> Select<Entity> {
    let worked_on =
        Query::select().column(Column::Subject).from(Entity).and_where(is(JobState::Running)).to_owned();
    let due = Entity::find()
        .filter(Expr::cust("state = 'queued' AND turn IS NOT NULL"))
        .filter(Column::Track.eq(track.number()))
        .filter(Column::Subject.not_in_subquery(worked_on));
    let due = if full.is_empty() { due } else { due.filter(Column::UserId.is_not_in(full.iter().copied())) };
    due.order_by_asc(Column::Priority).order_by_asc(Column::Turn).order_by_asc(Column::Id)
}

/// Spelled out, as in the partial indexes.
fn is(state: JobState) -> SimpleExpr {
    Expr::cust(format!("state = '{}'", state.name()))
}

/// Ends the leases of an owner whose process has died, so that its jobs are claimed at once and not only when their leases are
/// over. To be called before the owner's next process claims anything; the number of leases that it ended.
///
/// The death is counted by the claim, as with a lease that is over. A job that has died before keeps its lease: where the
/// process dies again and again, a pause between its tries tells the job that kills it from those that only ran beside it.
///
/// # Errors
/// The database fails.
pub async fn end_leases(db: &impl ConnectionTrait, owner: LeaseOwner, now: Timestamp) -> Result<u64, DbErr> {
    let over = now - Duration::from_millis(1);
    let ended = Entity::update_many()
        .col_expr(Column::LeaseUntil, Expr::value(over))
        .filter(is(JobState::Running))
        .filter(Column::LeaseUntil.gt(over))
        .filter(Column::LeaseOwner.eq(owner.0))
        .filter(Column::Deaths.eq(0));
    Ok(ended.exec(db).await?.rows_affected)
}

async fn lease(
    txn: &impl ConnectionTrait,
    owner: LeaseOwner,
    mut job: Model,
    now: Timestamp,
) -> Result<Model, DbErr> {
    // What it waited for before its first try is over; why a try of it failed stays.
    job.error = job.error.take().filter(|_| job.attempts > 0);
    job.deaths += i32::from(job.state == JobState::Running);
    job.attempts += 1;
    job.state = JobState::Running;
    job.turn = None;
    job.lease_token = Some(JobId::new(now).0);
    job.lease_owner = Some(owner.0);
    Entity::update_many()
        .col_expr(Column::State, Expr::value(job.state))
        .col_expr(Column::Turn, Expr::value(job.turn))
        .col_expr(Column::Attempts, Expr::value(job.attempts))
        .col_expr(Column::Deaths, Expr::value(job.deaths))
        .col_expr(Column::Error, Expr::value(job.error.clone()))
        .col_expr(Column::LeaseToken, Expr::value(job.lease_token))
        .col_expr(Column::LeaseOwner, Expr::value(job.lease_owner))
        .col_expr(Column::LeaseUntil, Expr::value(now + LEASE))
        .filter(Column::Id.eq(job.id))
        .exec(txn)
        .await?;
    Ok(job)
}
