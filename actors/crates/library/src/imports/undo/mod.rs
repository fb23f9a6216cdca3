//! Undoing an import.
//!
//! What the import created and nobody has changed since is deleted: bookmarks, feeds, collections and projects, and the notes and
//! decisions of projects. What belongs to one of these goes with it: tags, notes on a bookmark, highlights, entries, places in
//! collections and projects. A deleted bookmark can be restored as after any deletion.
//!
//! Everything else stays as it is:
//!
//! - what was changed since ([`super::fingerprint`] says what counts);
//! - what is in use: a bookmark or a note that was put into a project, a feed with an entry that was starred or put into a project
//!   (by the import itself does not count), a collection or a project with something left in it;
//! - what the import added to things that existed before it.
//!
//! An undo is a job of many transactions. Each row of the import is decided about once, and its decision is stored with it: an undo
//! that was interrupted, also by the end of the process, continues with the other rows.

mod changes;
mod collections;
mod report;
mod things;

use std::time::Instant;

use entity::id::{ImportId, ImportRowId, UserId};
use entity::import::{self, Column, Entity};
use entity::kind::{ImportState, ImportedKind};
use entity::time::Timestamp;
use entity::{bookmark, import_row, job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::job::TURN;
use super::pause::release_pages;
use super::{begin, library, release_file};
use actors::context::CoreContext;
use crate::context::CoreContext;
use errors::Error;
use jobs::JobError;
use jobs::Priority;
use crate::bookmarks::save;
use crate::owned_transaction::begin_owned;

pub use report::{UndoReport, undo_report};

/// Rows of one transaction.
const BATCH_ROWS: u64 = 100;

/// Starts to undo an import.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Conflict`] for a dry run, and for an import that is running, is being undone or was undone.
pub async fn undo(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let now = core.clock.now();
    let txn = begin_owned(&core.db, user).await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::not_found())?;
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
    // Pages that stay are fetched as if the import had not been paused; the jobs of the others find their documents gone.
    release_pages(&txn, &row, now).await?;
    begin::ask(&txn, &row, now).await?;
    txn.commit().await?;
    Ok(import::Model { state: ImportState::Undoing, error: None, ..row })
}

/// Undoes an import until it is done, or until other jobs are to have a turn.
///
/// # Errors
/// [`JobError`], as every job.
pub async fn run(core: &CoreContext, job: &job::Model, import: &import::Model) -> Result<(), JobError> {
    let until = Instant::now() + TURN;
    for phase in [Phase::Things, Phase::Projects] {
        if !delete_unchanged(ctx, job, import, phase, until).await? {
            let later = jobs::yield_job(core.db.write(), job, 0, Priority::of(job), core.clock.now());
            return Ok(later.await.map(drop)?);
        }
    }
    collections::delete_empty(ctx, job, import).await?;
    finish(ctx, job, import).await
}

/// What is deleted before what. Collections come last: they are deleted when nothing is in them.
#[derive(Clone, Copy)]
enum Phase {
    /// What may be in a project or a collection.
    Things,
    /// What is deleted when nothing is in it.
    Projects,
}

impl Phase {
    fn kinds(self) -> &'static [ImportedKind] {
        match self {
            Phase::Things => {
                &[ImportedKind::Bookmark, ImportedKind::Feed, ImportedKind::Note, ImportedKind::Decision]
            }
            Phase::Projects => &[ImportedKind::Project],
        }
    }
}

/// Decides about the rows of a phase, a batch at a time. Returns whether there are no more.
async fn delete_unchanged(
    core: &CoreContext,
    job: &job::Model,
    import: &import::Model,
    phase: Phase,
    until: Instant,
) -> Result<bool, JobError> {
    let mut before = i64::MAX;
    while Instant::now() < until {
        let (now, txn) = (core.clock.now(), begin_owned(&core.db, import.user_id).await?);
        library::hold(&txn, import.user_id).await?;
        let batch = next_batch(&txn, import, phase, before).await?;
        let Some(last) = batch.last() else { return Ok(true) };
        before = last.line;
        if !jobs::advance(&txn, job, now).await? {
            return Err(JobError::LeaseLost);
        }
        lock_bookmarks(&txn, import.user_id, &batch).await?;
        let mut decisions = BatchDecisions::default();
        for row in batch.iter().filter(|row| row.has_created()) {
            decisions.record(row.id, things::delete_unchanged(&txn, row, now).await?);
        }
        decisions.store(&txn, import.user_id).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
    }
    Ok(false)
}

/// Returns the last undecided rows of a phase that stand before a line of the file, last first. A line has one such row at most. Some
/// found their thing rather than creating it: with their outcome in the query, SQLite may sort all rows of the import for each batch.
async fn next_batch(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    phase: Phase,
    before: i64,
) -> Result<Vec<import_row::Model>, Error> {
    let rows = import_row::Entity::within(import.user_id, import.id)
        .filter(import_row::Column::Line.lt(before))
        .filter(import_row::Column::MadeId.is_not_null())
        .filter(import_row::Column::Detail.is_not_null())
        .filter(import_row::Column::Kind.is_in(phase.kinds().iter().copied()))
        .order_by_desc(import_row::Column::Line)
        .order_by_desc(import_row::Column::Id)
        .limit(BATCH_ROWS);
    Ok(rows.all(txn).await?)
}

/// Locks the bookmarks of a batch in the order in which every transaction does.
async fn lock_bookmarks(
    txn: &impl ConnectionTrait,
    user: UserId,
    batch: &[import_row::Model],
) -> Result<(), Error> {
    let of_bookmarks =
        batch.iter().filter(|row| row.kind == Some(ImportedKind::Bookmark) && row.has_created());
    let ids = of_bookmarks.filter_map(|row| row.made_id);
    let chosen = bookmark::Entity::owned_by(user).filter(bookmark::Column::Id.is_in(ids));
    save::lock(txn, chosen).await.map(drop)
}

/// What became of the thing of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowDecision {
    /// It was deleted, or did not exist any more.
    Gone,
    /// It stays.
    Kept,
}

/// The decisions of a batch.
#[derive(Default)]
struct BatchDecisions {
    gone: Vec<ImportRowId>,
    kept: Vec<ImportRowId>,
}

impl BatchDecisions {
    fn record(&mut self, row: ImportRowId, decision: RowDecision) {
        match decision {
            RowDecision::Gone => self.gone.push(row),
            RowDecision::Kept => self.kept.push(row),
        }
    }

    /// Stores them: a decided row has no trace, and one whose thing is gone has no id.
    async fn store(self, txn: &impl ConnectionTrait, user: UserId) -> Result<(), Error> {
        let decided = |rows: Vec<ImportRowId>| {
            import_row::Entity::update_many()
                .col_expr(import_row::Column::Detail, Expr::value(None::<String>))
                .filter(import_row::Column::UserId.eq(user))
                .filter(import_row::Column::Id.is_in(rows))
        };
        if !self.kept.is_empty() {
            decided(self.kept).exec(txn).await?;
        }
        if !self.gone.is_empty() {
            let gone = decided(self.gone).col_expr(import_row::Column::MadeId, Expr::value(None::<Uuid>));
            gone.exec(txn).await?;
        }
        Ok(())
    }
}

/// Ends the job and the undo.
async fn finish(core: &CoreContext, job: &job::Model, import: &import::Model) -> Result<(), JobError> {
    let (now, txn) = (core.clock.now(), begin_owned(&core.db, import.user_id).await?);
    if jobs::finish(&txn, job, now).await? {
        collections::keep_others(&txn, import).await?;
        mark_undone(&txn, import, now).await?;
        release_file(&txn, import.id).await?;
        txn.commit().await?;
    }
    Ok(())
}

async fn mark_undone(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    now: Timestamp,
) -> Result<(), Error> {
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
