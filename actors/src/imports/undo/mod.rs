//! Taking an import back: what it made goes, the newest first, and what it only added to loses what it got: tags, filings,
//! marks, progress, notes. What was deleted can be restored as after any deletion.

mod collections;
mod kept;
mod things;

use std::collections::HashSet;
use std::time::Instant;

use entity::id::{ImportId, UserId};
use entity::import::{self, Column, Entity};
use entity::kind::{ImportState, ImportedKind};
use entity::time::Timestamp;
use entity::{bookmark, highlight, import_row, job};
use sea_orm::sea_query::{Expr, ExprTrait, SimpleExpr};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::job::TURN;
use super::pause::release_pages;
use super::{begin, library, made, release_file};
use crate::app::App;
use crate::desk::Desk;
use crate::error::Error;
use crate::ingest::Failure;
use crate::ingest::queue::{self, Priority};
use crate::ops::bookmarks::save;
use crate::owned_transaction::begin_owned;

/// Rows of one transaction.
const LOT: u64 = 100;

/// Begins to take an import back.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`] where nothing was made, or it is being made.
pub async fn undo(desk: &Desk, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let now = desk.clock.now();
    let txn = begin_owned(&desk.db, user).await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::not_found("import"))?;
    let begun = Entity::update_many()
        .col_expr(Column::State, Expr::value(ImportState::Undoing))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .filter(Column::UserId.eq(user))
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
        return Err(Error::Conflict("only a finished, paused or failed import can be undone"));
    }
    // What waited while it was paused finds its document gone.
    release_pages(&txn, &row, now).await?;
    begin::ask(&txn, &row, now).await?;
    txn.commit().await?;
    Ok(import::Model { state: ImportState::Undoing, error: None, ..row })
}

/// Takes everything back, until others are to have a turn.
///
/// # Errors
/// [`Failure`], as every job.
pub async fn run(app: &App, job: &job::Model, import: &import::Model) -> Result<(), Failure> {
    let until = Instant::now() + TURN;
    for round in [Round::Things, Round::Highlights] {
        if !rows(app, job, import, round, until).await? {
            let later = queue::give_way(app.db.write(), job, 0, Priority::of(job), app.clock.now());
            return Ok(later.await.map(drop)?);
        }
    }
    end(app, job, import).await
}

/// Takes the rows of a round back, a lot at a time; whether that was all of them.
async fn rows(
    app: &App,
    job: &job::Model,
    import: &import::Model,
    round: Round,
    until: Instant,
) -> Result<bool, Failure> {
    let mut last = i64::MAX;
    while Instant::now() < until {
        let (now, txn) = (app.clock.now(), begin_owned(&app.db, import.user_id).await?);
        library::hold(&txn, import.user_id).await?;
        let lot = next_lot(&txn, import, round, last).await?;
        let Some(lowest) = lot.last() else { return Ok(true) };
        last = lowest.line;
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
    Ok(false)
}

/// What goes before what.
#[derive(Clone, Copy)]
enum Round {
    /// Everything but highlights and collections.
    Things,
    /// By them it is told whether their bookmark stays, and with one that goes they can be restored.
    Highlights,
}

/// The last rows of the file that made something that is still there; none of them is behind that line.
async fn next_lot(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    round: Round,
    line: i64,
) -> Result<Vec<import_row::Model>, Error> {
    let kind = import_row::Column::Kind;
    let kinds = match round {
        Round::Things => kind.is_not_in([ImportedKind::Highlight, ImportedKind::Collection]),
        Round::Highlights => kind.eq(ImportedKind::Highlight),
    };
    let rows = import_row::Entity::within(import.user_id, import.id)
        .filter(import_row::Column::Line.lte(line))
        .filter(import_row::Column::MadeId.is_not_null())
        .filter(kinds)
        .order_by_desc(import_row::Column::Line)
        // What was made beside a row goes after the row: `beside` comes before the names of all other outcomes.
        .order_by_desc(import_row::Column::Outcome)
        .order_by_desc(import_row::Column::Id)
        .limit(LOT);
    Ok(rows.all(txn).await?)
}

/// Removes the collections, and says that everything was taken back.
async fn end(app: &App, job: &job::Model, import: &import::Model) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    loop {
        let (now, txn) = (app.clock.now(), begin_owned(&app.db, import.user_id).await?);
        library::hold(&txn, import.user_id).await?;
        let made = made::collections(&txn, import).await?;
        // Another import that is taken back may hand one over at any time until this one is gone.
        if made.iter().all(|id| seen.contains(id)) {
            if queue::finish(&txn, job, now).await? {
                undone(&txn, import, now).await?;
                release_file(&txn, import.id).await?;
                txn.commit().await?;
            }
            return Ok(());
        }
        drop(txn);
        seen.extend(made.iter().copied());
        collections::remove(app, job, import, made).await?;
    }
}

/// Holds the bookmarks of a lot, and those in which it marked something, in the order in which everybody does.
async fn hold(txn: &impl ConnectionTrait, user: UserId, lot: &[import_row::Model]) -> Result<(), Error> {
    let of = |kind| lot.iter().filter(move |row| row.kind == Some(kind)).filter_map(|row| row.made_id);
    let marked = highlight::Entity::owned_by(user)
        .filter(highlight::Column::Id.is_in(of(ImportedKind::Highlight)))
        .select_only()
        .column(highlight::Column::BookmarkId);
    let ids = of(ImportedKind::Bookmark).chain(marked.into_tuple::<Uuid>().all(txn).await?);
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
