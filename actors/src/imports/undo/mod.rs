//! Taking an import back: what it made goes, the newest first, and what it only added to loses what it got: tags, filings,
//! marks, progress, notes. What was deleted can be restored as after any deletion.

mod collections;
mod kept;
mod things;

use entity::id::{ImportId, UserId};
use entity::import::{self, Column, Entity};
use entity::kind::{ImportState, ImportedKind};
use entity::time::Timestamp;
use entity::{bookmark, import_row, job, user};
use sea_orm::sea_query::{Expr, ExprTrait, LockType, SimpleExpr};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::begin;
use super::pause::release_pages;
use crate::app::App;
use crate::desk::Desk;
use crate::error::Error;
use crate::ingest::{Failure, queue};
use crate::ops::bookmarks::save;

/// Rows of one transaction.
const LOT: u64 = 100;

/// Begins to take an import back.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`] where nothing was made, or it is being made.
pub async fn undo(desk: &Desk, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let now = desk.clock.now();
    let txn = desk.db.begin().await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::NotFound)?;
    let begun = Entity::update_many()
        .col_expr(Column::State, Expr::value(ImportState::Undoing))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .filter(Column::Id.eq(row.id))
        .filter(Column::DryRun.eq(false))
        .filter(Column::State.is_in([
            ImportState::Done,
            ImportState::Paused,
            ImportState::Failed,
            ImportState::HalfUndone,
        ]))
        .exec(&txn)
        .await?;
    if begun.rows_affected == 0 {
        return Err(Error::Conflict("the import can be taken back once it is done, paused or failed"));
    }
    // What waited while it was paused finds its document gone.
    release_pages(&txn, &row, now).await?;
    begin::ask(&txn, &row, now).await?;
    txn.commit().await?;
    Ok(import::Model { state: ImportState::Undoing, error: None, ..row })
}

/// Takes rows back, a lot at a time.
///
/// # Errors
/// [`Failure`], as every job.
pub async fn run(app: &App, job: &job::Model, import: &import::Model) -> Result<(), Failure> {
    loop {
        let now = app.clock.now();
        let txn = app.db.begin().await?;
        // One after the other: two at once would each leave to the other what both brought.
        let owner = user::Entity::find_by_id(import.user_id).lock(LockType::NoKeyUpdate).one(&txn).await?;
        if owner.is_none() {
            return Ok(());
        }
        let lot = import_row::Entity::within(import.user_id, import.id)
            .filter(import_row::Column::MadeId.is_not_null())
            .filter(import_row::Column::Kind.ne(ImportedKind::Collection))
            .order_by_desc(import_row::Column::Line)
            // What was made beside a row goes after the row: `beside` comes before the names of all other outcomes.
            .order_by_desc(import_row::Column::Outcome)
            .order_by_desc(import_row::Column::Id)
            .limit(LOT)
            .all(&txn)
            .await?;
        if lot.is_empty() {
            drop(txn);
            collections::remove(app, job, import).await?;
            let txn = app.db.begin().await?;
            if queue::finish(&txn, job, app.clock.now()).await? {
                undone(&txn, import, now).await?;
                txn.commit().await?;
            }
            return Ok(());
        }
        if !queue::advance(&txn, job, now).await? {
            return Err(Failure::LeaseLost);
        }
        hold(&txn, import.user_id, &lot).await?;
        for row in &lot {
            things::take_back(&txn, row, now).await?;
        }
        let own = import_row::Column::UserId.eq(import.user_id);
        forget(&txn, own.and(import_row::Column::Id.is_in(lot.iter().map(|row| row.id)))).await?;
        txn.commit().await?;
        app.ingest.wake();
    }
}

/// Holds the bookmarks of a lot, in the order in which everybody does.
async fn hold(txn: &impl ConnectionTrait, user: UserId, lot: &[import_row::Model]) -> Result<(), Error> {
    let of_bookmarks = lot.iter().filter(|row| row.kind == Some(ImportedKind::Bookmark));
    let ids = of_bookmarks.filter_map(|row| row.made_id);
    let chosen = bookmark::Entity::owned_by(user).filter(bookmark::Column::Id.is_in(ids));
    save::lock(txn, chosen).await.map(drop)
}

async fn undone(txn: &impl ConnectionTrait, import: &import::Model, now: Timestamp) -> Result<(), Error> {
    // Nothing is handed on to an import that is gone.
    let all = import_row::Column::UserId.eq(import.user_id).and(import_row::Column::ImportId.eq(import.id));
    forget(txn, all.and(import_row::Column::MadeId.is_not_null())).await?;
    Entity::update_many()
        .col_expr(Column::State, Expr::value(ImportState::Undone))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(Column::UserId.eq(import.user_id))
        .filter(Column::Id.eq(import.id))
        .exec(txn)
        .await?;
    Ok(())
}

/// These rows have made nothing that is still there.
async fn forget(txn: &impl ConnectionTrait, which: SimpleExpr) -> Result<(), Error> {
    import_row::Entity::update_many()
        .col_expr(import_row::Column::MadeId, Expr::value(None::<Uuid>))
        .filter(which)
        .exec(txn)
        .await?;
    Ok(())
}
