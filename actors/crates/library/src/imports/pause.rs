//! Pausing: no more rows are taken, and the pages that came in are not fetched until it goes on.

use entity::id::{ImportId, UserId};
use entity::import::{self, Column, Entity};
use entity::kind::{ImportState, JobState};
use entity::time::Timestamp;
use entity::{bookmark, job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect, UpdateMany};
use uuid::Uuid;

use super::{begin, made};
use crate::context::CoreContext;
use errors::Error;
use crate::bookmarks::save::AT_ONCE;
use crate::owned_transaction::begin_owned;

/// Told of a page whose import was paused.
const WAITS: &str = "the import of this page is paused";
/// Longer than anybody pauses: the end of time as the database counts it.
const LATER: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// Pauses an import, or the pages that a finished one brought.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`] where there is nothing to pause.
pub async fn pause(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let from = [ImportState::Running, ImportState::Done];
    change(core, user, id, &from, ImportState::Paused, "only a running or finished import can be paused")
        .await
}

/// Goes on.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`] where it is not paused.
pub async fn resume(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    // One that failed is tried again from where it stopped.
    let from = [ImportState::Paused, ImportState::Failed];
    change(core, user, id, &from, ImportState::Running, "only a paused or failed import can be resumed").await
}

async fn change(
    core: &CoreContext,
    user: UserId,
    id: ImportId,
    from: &[ImportState],
    to: ImportState,
    not: &'static str,
) -> Result<import::Model, Error> {
    let now = core.clock.now();
    let txn = begin_owned(&core.db, user).await?;
    let row = Entity::one_of(user, id).lock_exclusive().one(&txn).await?.ok_or(Error::not_found())?;
    if row.dry_run || !from.contains(&row.state) {
        return Err(Error::Conflict(not));
    }
    // Every row of it was taken: only its pages go on.
    let is_over = row.finished_at.is_some() && row.error.is_none();
    let to = if to == ImportState::Running && is_over { ImportState::Done } else { to };
    let finished_at = if to == ImportState::Running { None } else { row.finished_at };
    if to == ImportState::Running {
        begin::must_have_file(&txn, row.id).await?;
    }
    Entity::update_many()
        .col_expr(Column::State, Expr::value(to))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .col_expr(Column::FinishedAt, Expr::value(finished_at))
        .filter(Column::UserId.eq(user))
        .filter(Column::Id.eq(row.id))
        .exec(&txn)
        .await?;
    let row = import::Model { state: to, error: None, finished_at, ..row };
    if to == ImportState::Paused {
        hold_pages(&txn, &row).await?;
    } else {
        release_pages(&txn, &row, now).await?;
    }
    if to == ImportState::Running {
        begin::ask(&txn, &row, now).await?;
    }
    txn.commit().await?;
    Ok(row)
}

/// The pages that were brought wait, where nobody works on them yet.
async fn hold_pages(txn: &impl ConnectionTrait, import: &import::Model) -> Result<(), Error> {
    let wait = job::Entity::update_many()
        .col_expr(job::Column::RunAt, Expr::value(LATER))
        .col_expr(job::Column::Turn, Expr::value(None::<i64>))
        .col_expr(job::Column::Error, Expr::value(Some(WAITS)));
    change_pages(txn, import, wait).await
}

pub(super) async fn release_pages(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    now: Timestamp,
) -> Result<(), Error> {
    let go_on = job::Entity::update_many()
        .col_expr(job::Column::RunAt, Expr::value(now))
        .col_expr(job::Column::Error, Expr::value(None::<String>))
        .filter(job::Column::Error.eq(WAITS));
    change_pages(txn, import, go_on).await
}

/// Changes the jobs that nobody works on yet of the pages that an import brought. By short lists of ids: a table that has
/// just grown has no statistics, and a join over it may take minutes.
async fn change_pages(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    change: UpdateMany<job::Entity>,
) -> Result<(), Error> {
    let change =
        change.filter(job::Column::UserId.eq(import.user_id)).filter(job::Column::State.eq(JobState::Queued));
    for some in made::bookmarks(txn, import).await?.chunks(AT_ONCE) {
        let documents: Vec<Uuid> = bookmark::Entity::owned_by(import.user_id)
            .filter(bookmark::Column::Id.is_in(some.iter().copied()))
            .select_only()
            .column(bookmark::Column::DocumentId)
            .into_tuple()
            .all(txn)
            .await?;
        change.clone().filter(job::Column::Subject.is_in(documents)).exec(txn).await?;
    }
    Ok(())
}
