//! Whether a claim would take waiting jobs, by reads alone: mostly there is nothing to claim, and the transaction of a claim would take the
//! lock of the database.

use database::Db;
use entity::job::{Column, Entity};
use sea_orm::sea_query::SimpleExpr;
use sea_orm::{ColumnTrait, DbErr, QueryFilter, QuerySelect, Select};
use values::id::UserId;

use super::choice::JobChoice;
use super::inspect::{any_exists, due_jobs_of_others};
use super::kind::{Priority, Track};
use super::slots::{BatchBudget, SlotBudget};

/// The numbers of slots that a claim may use for waiting jobs: 0 if there is none to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClaimableSlots {
    /// Slots for jobs that a user waits for.
    pub(crate) interactive: u64,
    /// Slots for jobs of the backlog.
    pub(crate) backlog: u64,
}

impl ClaimableSlots {
    /// Returns whether there is no job to take.
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// Finds out which of the waiting jobs of a track, which `waiting` selects in their order, a claim with these slots would take. `kinds` is
/// the condition that a job is of a kind that it may take.
pub(crate) async fn find_claimable(
    db: &Db,
    track: Track,
    slots: &SlotBudget,
    kinds: &SimpleExpr,
    waiting: &Select<Entity>,
) -> Result<ClaimableSlots, DbErr> {
    let full_users = slots.users_at_maximum();
    let forms_batches = slots.batches.is_none_or(BatchBudget::has_room_for_backlog);
    if full_users.is_empty() && forms_batches && slots.free_for_backlog > 0 {
        // One query for both, because mostly no job waits.
        let is_any = waiting.clone().one(db.read()).await?.is_some();
        let all = ClaimableSlots { interactive: slots.free, backlog: slots.free_for_backlog };
        return Ok(if is_any { all } else { ClaimableSlots::default() });
    }
    let mut found = ClaimableSlots::default();
    if others_are_due(db, (track, Priority::Now), kinds, &full_users).await?
        && select_interactive(waiting.clone()).one(db.read()).await?.is_some()
    {
        found.interactive = slots.free;
    }
    if slots.free_for_backlog > 0
        && others_are_due(db, (track, Priority::Backlog), kinds, &full_users).await?
        && is_backlog_claimable(db, slots, waiting).await?
    {
        found.backlog = slots.free_for_backlog;
    }
    Ok(found)
}

/// Returns whether jobs of these kinds and of other users than these are due at a priority. Otherwise a query without these users would read
/// all of their jobs.
async fn others_are_due(
    db: &Db,
    (track, priority): (Track, Priority),
    kinds: &SimpleExpr,
    full_users: &[UserId],
) -> Result<bool, DbErr> {
    if full_users.is_empty() {
        return Ok(true);
    }
    any_exists(db.read(), due_jobs_of_others((track.number(), priority.number()), kinds, full_users)).await
}

/// Returns whether a job of the backlog would be taken. Those that may share a slot wait while no batch may begin; another one may be among
/// the first.
async fn is_backlog_claimable(db: &Db, slots: &SlotBudget, waiting: &Select<Entity>) -> Result<bool, DbErr> {
    let mut choice = JobChoice::new(slots.clone());
    let Some(limit) = choice.rows_to_read(slots.free_for_backlog) else { return Ok(false) };
    let first = select_backlog(waiting.clone()).limit(limit).all(db.read()).await?;
    Ok(!choice.choose(first, slots.free_for_backlog).is_empty())
}

/// Restricts a query to jobs that a user waits for.
pub(crate) fn select_interactive(waiting: Select<Entity>) -> Select<Entity> {
    waiting.filter(Column::Priority.lt(Priority::Backlog.number()))
}

/// Restricts a query to jobs of the backlog.
pub(crate) fn select_backlog(waiting: Select<Entity>) -> Select<Entity> {
    waiting.filter(Column::Priority.eq(Priority::Backlog.number()))
}
