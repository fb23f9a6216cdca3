//! Claims: a worker takes due jobs under a lease.
//!
//! A claim raises `attempts` in the transaction that takes the row. So an attempt that crashes the process is counted, and
//! the job is given up after its last attempt. Each claim writes a new fencing token: a worker that lost the lease does not
//! match the row any more and changes nothing.
//!
//! Only kinds that this version knows are claimed. A job of another kind stays as it is, for a version that can run it.
//!
//! Many short jobs of kinds that [run in batches](super::JobKind::runs_in_batches) may share a slot ([`super::BatchBudget`]). How many
//! jobs of each user a claim takes is decided by their queue positions, with and without batches.

use std::collections::BTreeMap;
use std::time::Duration;

use database::Db;
use entity::job::{Column, Entity, Model};
use sea_orm::sea_query::{Expr, LockBehavior, LockType};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select, SqlErr,
};
use uuid::Uuid;
use values::id::{JobId, UserId};
use values::kind::JobState;
use values::time::Timestamp;

use super::LEASE_DURATION;
use super::choice::{ChosenJobs, JobChoice, is_first_attempt};
use super::claimable::{find_claimable, select_backlog, select_interactive};
use super::inspect::{has_state, is_due, without_running_subjects};
use super::kind::Track;
use super::newest::prefer_newest;
use super::slots::{ClaimedJobs, SlotBudget};

/// Which due jobs a claim takes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimOrder {
    /// Jobs that a user waits for.
    InteractiveFirst,
    /// One job of the backlog, if there is any, so that a steady flow of interactive jobs does not starve the backlog.
    BacklogFirst,
}

/// The holder of a lease: the id of a data folder, which only one running process has at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseOwner(pub Uuid);

/// Claims due jobs of a track under a lease, as many as there are slots: first jobs whose lease has expired, then waiting
/// jobs by priority and queue position. Jobs of kinds that this version does not know stay as they are. Two jobs of one subject never
/// run at the same time, because the slower one could overwrite a newer version with an older one.
pub async fn claim(
    db: &Db,
    owner: LeaseOwner,
    track: Track,
    order: ClaimOrder,
    now: Timestamp,
    slots: SlotBudget,
) -> Result<ClaimedJobs, DbErr> {
    let Some(kinds) = slots.claimable_kinds(track) else { return Ok(ClaimedJobs::default()) };
    let expired = jobs_with_expired_lease(track, now).filter(kinds.clone());
    let waiting = waiting_jobs(track, &slots.users_at_maximum()).filter(kinds.clone());
    // A read first: most of the time there is nothing to claim, and the transaction below would take the lock of the database.
    let claimable = find_claimable(db, track, &slots, &kinds, &waiting).await?;
    if claimable.is_empty() && expired.clone().one(db.read()).await?.is_none() {
        return Ok(ClaimedJobs::default());
    }
    let expired = (expired, slots.free);
    let interactive = (select_interactive(waiting.clone()), claimable.interactive);
    let backlog = (select_backlog(waiting), claimable.backlog);
    let queries = match order {
        ClaimOrder::InteractiveFirst => vec![expired, interactive, backlog],
        ClaimOrder::BacklogFirst => {
            let first = (backlog.0.clone(), claimable.backlog.min(1));
            vec![expired, first, interactive, backlog]
        }
    };
    match lease_jobs(db, owner, queries, now, slots).await {
        // The index `job_running` refused the lease: another process claimed a job of the same subject at the same moment. The
        // transaction is rolled back, and the next claim finds what is left.
        Err(error) if matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))) => {
            Ok(ClaimedJobs::default())
        }
        claimed => claimed,
    }
}

/// Leases the jobs of the queries in their order; of each query at most as many as its number of slots takes.
async fn lease_jobs(
    db: &Db,
    owner: LeaseOwner,
    queries: Vec<(Select<Entity>, u64)>,
    now: Timestamp,
    slots: SlotBudget,
) -> Result<ClaimedJobs, DbErr> {
    let txn = db.begin().await?;
    let mut choice = JobChoice::new(slots);
    for (query, max_slots) in queries {
        let Some(limit) = choice.rows_to_read(max_slots) else { continue };
        // Another process may claim at the same time: it takes other rows instead of waiting for these. On SQLite, which
        // has no row locks, only one transaction writes at a time.
        let jobs = query.limit(limit).lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
        let mut chosen = choice.choose(jobs.all(&txn).await?, max_slots);
        if chosen.is_batch_of_backlog() {
            prefer_newest(&txn, &mut chosen.batch, &mut choice.subjects).await?;
        }
        lease_all(&txn, owner, &mut chosen, now).await?;
        choice.add(chosen);
    }
    txn.commit().await?;
    Ok(choice.claimed)
}

fn jobs_with_expired_lease(track: Track, now: Timestamp) -> Select<Entity> {
    Entity::of_every_user()
        .filter(has_state(JobState::Running))
        .filter(Column::Track.eq(track.number()))
        .filter(Column::LeaseUntil.lt(now))
        .order_by_asc(Column::LeaseUntil)
}

/// Selects due jobs in the order of their queue positions, without those whose subject another job works on, and without those of
/// users that have all their slots. A job whose worker crashed counts as running until its own track claims it again.
fn waiting_jobs(track: Track, users_at_maximum: &[UserId]) -> Select<Entity> {
    let due = Entity::of_every_user().filter(is_due()).filter(Column::Track.eq(track.number()));
    let mut waiting = without_running_subjects(due);
    if !users_at_maximum.is_empty() {
        // `try_acquire` would refuse these jobs too, but at the head of the queue they would use up the limit of the query.
        waiting = waiting.filter(Column::UserId.is_not_in(users_at_maximum.iter().copied()));
    }
    waiting.order_by_asc(Column::Priority).order_by_asc(Column::QueuePosition).order_by_asc(Column::Id)
}

/// Ends the leases of an owner whose process has crashed, so that its jobs need not wait until their leases expire. Returns
/// the number of ended leases. Call it before the next process of the owner claims anything.
///
/// The claim counts the crash, as with an expired lease. A job that crashed before keeps its lease: if the process crashes
/// again and again, the pause between its attempts separates the job that causes the crashes from those that only run at the
/// same time.
pub async fn end_leases(db: &impl ConnectionTrait, owner: LeaseOwner, now: Timestamp) -> Result<u64, DbErr> {
    // One millisecond earlier, because a lease that ends now has not expired yet.
    let expired = now - Duration::from_millis(1);
    let ended = Entity::update_many()
        .col_expr(Column::LeaseUntil, Expr::value(expired))
        .filter(has_state(JobState::Running))
        .filter(Column::LeaseUntil.gt(expired))
        .filter(Column::LeaseOwner.eq(owner.0))
        .filter(Column::Crashes.eq(0));
    Ok(ended.exec(db).await?.rows_affected)
}

/// Leases jobs that this transaction read, and changes their models to what the rows then hold. All of them get one fencing token: a
/// lease is identified by the job and its token.
async fn lease_all(
    txn: &impl ConnectionTrait,
    owner: LeaseOwner,
    chosen: &mut ChosenJobs,
    now: Timestamp,
) -> Result<(), DbErr> {
    // Ids are unique, so no other claim writes the same token.
    let token = JobId::new(now).0;
    // Most jobs are attempted once. Their rows get the same values, so those of a user are written by one statement.
    let mut first_attempts: BTreeMap<UserId, (Model, Vec<JobId>)> = BTreeMap::new();
    for job in chosen.jobs.iter_mut().chain(chosen.batch.iter_mut()) {
        let row = &mut job.row;
        let is_first = is_first_attempt(row);
        // The reason why it waited before its first attempt no longer holds. The reason why an attempt failed is kept.
        row.error = row.error.take().filter(|_| row.attempts > 0);
        // A row that is still marked as running was never ended by its worker: its process crashed, froze or lost its database.
        row.crashes += i32::from(row.state == JobState::Running);
        row.attempts += 1;
        row.state = JobState::Running;
        row.queue_position = None;
        row.lease_token = Some(token);
        row.lease_owner = Some(owner.0);
        if is_first {
            let (_, ids) = first_attempts.entry(row.user_id).or_insert_with(|| (row.clone(), Vec::new()));
            ids.push(row.id);
        } else {
            write_lease(txn, row, [row.id], now).await?;
        }
    }
    for (row, ids) in first_attempts.into_values() {
        write_lease(txn, &row, ids, now).await?;
    }
    Ok(())
}

/// Writes the lease that `row` has to the rows of its user with these ids. An id identifies the row: this transaction has locked it on
/// PostgreSQL, and is the only writer on SQLite.
async fn write_lease(
    txn: &impl ConnectionTrait,
    row: &Model,
    ids: impl IntoIterator<Item = JobId>,
    now: Timestamp,
) -> Result<(), DbErr> {
    Entity::update_owned(row.user_id)
        .col_expr(Column::State, Expr::value(row.state))
        .col_expr(Column::QueuePosition, Expr::value(row.queue_position))
        .col_expr(Column::Attempts, Expr::value(row.attempts))
        .col_expr(Column::Crashes, Expr::value(row.crashes))
        .col_expr(Column::Error, Expr::value(row.error.clone()))
        .col_expr(Column::LeaseToken, Expr::value(row.lease_token))
        .col_expr(Column::LeaseOwner, Expr::value(row.lease_owner))
        .col_expr(Column::LeaseUntil, Expr::value(now + LEASE_DURATION))
        .filter(Column::Id.is_in(ids))
        .exec(txn)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests;
