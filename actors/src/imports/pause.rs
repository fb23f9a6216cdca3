//! Pausing: no more rows are taken, and the pages that came in are not fetched until it goes on.

use entity::id::{ImportId, UserId};
use entity::import::{self, Column, Entity};
use entity::kind::{ImportState, ImportedKind, JobState, RowOutcome};
use entity::time::Timestamp;
use entity::{bookmark, import_row, job, stored_file};
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};

use super::begin;
use crate::desk::Desk;
use crate::error::Error;

/// Told of a page whose import was paused.
const WAITS: &str = "its import is paused";
/// Longer than anybody pauses: the end of time as the database counts it.
const LATER: Timestamp = Timestamp::from_millis(253_402_300_799_000);

/// Pauses an import, or the pages that a finished one brought.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`] where there is nothing to pause.
pub async fn pause(desk: &Desk, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let from = [ImportState::Running, ImportState::Done];
    change(desk, user, id, &from, ImportState::Paused, "there is nothing to pause").await
}

/// Goes on.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`] where it is not paused.
pub async fn resume(desk: &Desk, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    // One that failed is tried again from where it stopped.
    let from = [ImportState::Paused, ImportState::Failed];
    change(desk, user, id, &from, ImportState::Running, "the import is neither paused nor failed").await
}

async fn change(
    desk: &Desk,
    user: UserId,
    id: ImportId,
    from: &[ImportState],
    to: ImportState,
    not: &'static str,
) -> Result<import::Model, Error> {
    let now = desk.clock.now();
    let txn = desk.db.begin().await?;
    let row = Entity::one_of(user, id).lock_exclusive().one(&txn).await?.ok_or(Error::NotFound)?;
    if row.dry_run || !from.contains(&row.state) {
        return Err(Error::Conflict(not));
    }
    // Every row of it was taken: only its pages go on.
    let is_over = row.finished_at.is_some() && row.error.is_none();
    let to = if to == ImportState::Running && is_over { ImportState::Done } else { to };
    if to == ImportState::Running && stored_file::Entity::of_import(row.id).one(&txn).await?.is_none() {
        return Err(Error::Conflict("its file is not here: import it again to go on"));
    }
    Entity::update_many()
        .col_expr(Column::State, Expr::value(to))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .filter(Column::UserId.eq(user))
        .filter(Column::Id.eq(row.id))
        .exec(&txn)
        .await?;
    let row = import::Model { state: to, error: None, ..row };
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
    job::Entity::update_many()
        .col_expr(job::Column::RunAt, Expr::value(LATER))
        .col_expr(job::Column::Turn, Expr::value(None::<i64>))
        .col_expr(job::Column::Error, Expr::value(Some(WAITS)))
        .filter(job::Column::UserId.eq(import.user_id))
        .filter(job::Column::State.eq(JobState::Queued))
        .filter(Expr::col(job::Column::Subject).in_subquery(brought(import)))
        .exec(txn)
        .await?;
    Ok(())
}

pub(super) async fn release_pages(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    now: Timestamp,
) -> Result<(), Error> {
    job::Entity::update_many()
        .col_expr(job::Column::RunAt, Expr::value(now))
        .col_expr(job::Column::Error, Expr::value(None::<String>))
        .filter(job::Column::UserId.eq(import.user_id))
        .filter(job::Column::State.eq(JobState::Queued))
        .filter(job::Column::Error.eq(WAITS))
        .filter(Expr::col(job::Column::Subject).in_subquery(brought(import)))
        .exec(txn)
        .await?;
    Ok(())
}

/// The documents of the bookmarks that an import made.
pub fn brought(import: &import::Model) -> SelectStatement {
    Query::select()
        .column((bookmark::Entity, bookmark::Column::DocumentId))
        .from(bookmark::Entity)
        .inner_join(
            import_row::Entity,
            Expr::col((import_row::Entity, import_row::Column::MadeId))
                .equals((bookmark::Entity, bookmark::Column::Id)),
        )
        .and_where(Expr::col((import_row::Entity, import_row::Column::ImportId)).eq(import.id))
        .and_where(Expr::col((import_row::Entity, import_row::Column::UserId)).eq(import.user_id))
        .and_where(Expr::col((import_row::Entity, import_row::Column::Outcome)).eq(RowOutcome::Created))
        .and_where(Expr::col((import_row::Entity, import_row::Column::Kind)).eq(ImportedKind::Bookmark))
        .and_where(Expr::col((bookmark::Entity, bookmark::Column::UserId)).eq(import.user_id))
        .to_owned()
}
