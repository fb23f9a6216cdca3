//! Whether a claim would take a waiting job, by reads alone: mostly there is nothing to claim, and the transaction of a claim would take
//! the lock of the database.

use database::Db;
use entity::job::{Column, Entity};
use sea_orm::{ColumnTrait, DbErr, QueryFilter, QuerySelect, Select};

use super::choice::JobChoice;
use super::inspect::{any_exists, due_jobs_of_others};
use super::kind::{Priority, Track};
use super::slots::{BatchBudget, SlotBudget};

/// Returns whether a claim with these slots would take one of the waiting jobs of a track, which `waiting` selects in their order.
pub(crate) async fn is_any_claimable(
    db: &Db,
    track: Track,
    slots: &SlotBudget,
    waiting: &Select<Entity>,
) -> Result<bool, DbErr> {
    let full_users = slots.users_at_maximum();
    if !full_users.is_empty() {
        // Otherwise the query below would read all waiting jobs of these users, and refuse each.
        let of_others = [Priority::Now, Priority::Backlog]
            .into_iter()
            .flat_map(|priority| due_jobs_of_others((track.number(), priority.number()), &full_users));
        if !any_exists(db.read(), of_others).await? {
            return Ok(false);
        }
    }
    let forms_batches = slots.batches.is_none_or(BatchBudget::has_room_for_backlog);
    if slots.free_for_backlog > 0 && forms_batches {
        return Ok(waiting.clone().one(db.read()).await?.is_some());
    }
    if select_interactive(waiting.clone()).one(db.read()).await?.is_some() {
        return Ok(true);
    }
    if slots.free_for_backlog == 0 {
        return Ok(false);
    }
    // Jobs that may share a slot wait for the batches that run. Another one may be among the first.
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
