//! Undoing an import.
//!
//! The undo deletes what the import created and what was not changed since: bookmarks, feeds, collections and projects, and the
//! notes and decisions of projects. Their parts are deleted with them: tags, notes on a bookmark, highlights, entries, places in
//! collections and projects. A deleted bookmark can be restored as after any deletion.
//!
//! Everything else stays as it is:
//!
//! - objects that were changed since ([`super::fingerprint`] defines what counts);
//! - objects in use: a bookmark or a note that was added to a project, a feed with an entry that was starred or added to a project
//!   (unless the import itself did it), a collection or a project that is not empty;
//! - what the import added to objects that existed before it.
//!
//! An undo is a job of many transactions, each of which is bounded by its time and by its rows. It decides about each row of the import
//! once, and stores the decision with the row: an undo that was interrupted, also by the end of the process, continues with the other
//! rows.

mod collections;
mod decision;
mod in_use;
mod objects;
mod report;

use database::padded;
use std::time::Instant;

use entity::import::{self, Column, Entity};
use entity::{bookmark, import_row, job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use values::id::{ImportId, UserId};
use values::kind::{ImportState, ImportedKind};
use values::time::Timestamp;

use self::decision::BatchDecisions;
use self::in_use::OwnedImport;
use super::batch_size::BatchSize;
use super::begin;
use super::context::ImportContext;
use super::library_lock::lock_library;
use super::pause::{release_pages, state_conflict};
use super::retention::release_file;
use crate::bookmarks;
use crate::context::CoreContext;
use crate::owned_transaction::begin_owned;
use errors::Error;
use jobs::JobError;
use jobs::Priority;

pub use report::{UndoReport, load_undo_report};

/// Objects other than bookmarks that one transaction deletes at most: it deletes them one by one, and a feed with all of its entries.
const MAX_OTHER_OBJECTS: usize = 100;

/// Starts to undo an import: sets its state and enqueues the job.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Conflict`] for a dry run, and for an import that is running, is being undone or was undone.
pub async fn undo(core: &CoreContext, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let now = core.clock.now();
    let txn = begin_owned(&core.db, user).await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::not_found())?;
    // A conditional update: of two requests, or of a request and a job that ends the import, only one changes the state.
    let begun = Entity::update_owned(user)
        .col_expr(Column::State, Expr::value(ImportState::Undoing))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .filter(Column::Id.eq(row.id))
        .filter(Column::IsDryRun.eq(false))
        .filter(Column::State.is_in([
            ImportState::Done,
            ImportState::Paused,
            ImportState::Failed,
            ImportState::HalfUndone,
        ]))
        .exec(&txn)
        .await?;
    if begun.rows_affected == 0 {
        let rule = "only a finished, paused or failed import can be undone";
        return Err(if row.state == ImportState::Running && !row.is_dry_run {
            Error::conflict(format!("{rule}; pause a running one before you undo it"))
        } else {
            state_conflict(rule, &row)
        });
    }
    // Pages that stay are fetched as if the import had not been paused. The jobs of the others find that their documents are
    // deleted, and end.
    release_pages(&txn, &row, now).await?;
    begin::enqueue_job(&txn, &row, now).await?;
    txn.commit().await?;
    Ok(import::Model { state: ImportState::Undoing, error: None, ..row })
}

/// Undoes an import until it is done, or yields to other jobs at the deadline.
///
/// # Errors
/// [`JobError`], as of every job.
pub async fn run(
    context: &ImportContext,
    job: &job::Model,
    import: &import::Model,
    deadline: Instant,
) -> Result<(), JobError> {
    let core = &context.core;
    for phase in [UndoPhase::Contents, UndoPhase::Projects] {
        if !delete_unchanged(context, job, import, phase, deadline).await? {
            let later = jobs::yield_job(core.db.write(), job, 0, Priority::of(job), core.clock.now());
            return Ok(later.await.map(drop)?);
        }
    }
    collections::delete_empty(core, job, import).await?;
    finish(core, job, import).await
}

/// The order of deletion. Collections are deleted after both phases, when they are empty.
#[derive(Clone, Copy)]
enum UndoPhase {
    /// Objects that may be in a project or a collection.
    Contents,
    /// Projects, which are deleted when they are empty.
    Projects,
}

impl UndoPhase {
    fn kinds(self) -> &'static [ImportedKind] {
        match self {
            Self::Contents => {
                &[ImportedKind::Bookmark, ImportedKind::Feed, ImportedKind::Note, ImportedKind::Decision]
            }
            Self::Projects => &[ImportedKind::Project],
        }
    }
}

/// Decides about the rows of a phase, a batch at a time. Returns whether the phase is done.
async fn delete_unchanged(
    context: &ImportContext,
    job: &job::Model,
    import: &import::Model,
    phase: UndoPhase,
    deadline: Instant,
) -> Result<bool, JobError> {
    let core = &context.core;
    let (mut before, mut size) = (i64::MAX, BatchSize::default());
    while Instant::now() < deadline {
        let (now, txn) = (core.clock.now(), begin_owned(&core.db, import.user_id).await?);
        let began = Instant::now();
        lock_library(&txn, import.user_id).await?;
        let batch = next_batch(&txn, import, phase, before, size.rows()).await?;
        let Some(last) = batch.last() else { return Ok(true) };
        before = last.line;
        // Checks the fencing token in this transaction: an attempt that lost its lease must delete nothing.
        if !jobs::advance(&txn, job, now).await? {
            return Err(JobError::LeaseLost);
        }
        lock_bookmarks(&txn, import.user_id, &batch).await?;
        delete_batch(&txn, import, &batch, now).await?;
        txn.commit().await?;
        size.record(batch.len(), began.elapsed());
        // After the commit: a worker that is woken earlier does not see the jobs that the deletions enqueued.
        context.job_signal.notify();
    }
    Ok(false)
}

/// Decides about the rows of a batch that created their objects, and deletes what is unchanged and not in use.
async fn delete_batch(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    batch: &[import_row::Model],
    now: Timestamp,
) -> Result<(), Error> {
    let mut decisions = BatchDecisions::default();
    let created: Vec<&import_row::Model> = batch.iter().filter(|row| row.has_created()).collect();
    // In the order of the rows; bookmarks that follow each other together.
    for rows in created.chunk_by(|row, next| is_of_bookmark(row) && is_of_bookmark(next)) {
        match rows {
            [row] if !is_of_bookmark(row) => {
                decisions.record(row.id, objects::delete_if_unchanged(txn, row, now).await?);
            }
            rows => {
                let import = OwnedImport { user: import.user_id, id: import.id };
                objects::delete_unchanged_bookmarks(txn, import, rows, &mut decisions, now).await?;
            }
        }
    }
    decisions.store(txn, import.user_id).await
}

fn is_of_bookmark(row: &import_row::Model) -> bool {
    row.kind == Some(ImportedKind::Bookmark)
}

/// Returns the last undecided rows of a phase before a line of the file, the last first: at most `max_rows`, of which at most
/// [`MAX_OTHER_OBJECTS`] created an object that is no bookmark. A line has at most one such row. They include rows that found their
/// object rather than creating it.
async fn next_batch(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    phase: UndoPhase,
    before: i64,
    max_rows: usize,
) -> Result<Vec<import_row::Model>, Error> {
    let rows = import_row::Entity::within(import.user_id, import.id)
        // Without the outcome: with it in the query, SQLite may sort all rows of the import for each batch.
        .filter(import_row::Column::Line.lt(before))
        .filter(import_row::Column::ObjectId.is_not_null())
        .filter(import_row::Column::Detail.is_not_null())
        .filter(import_row::Column::Kind.is_in(phase.kinds().iter().copied()))
        .order_by_desc(import_row::Column::Line)
        .order_by_desc(import_row::Column::Id)
        .limit(max_rows as u64);
    let mut rows = rows.all(txn).await?;
    let mut others = rows.iter().enumerate().filter(|(_, row)| row.has_created() && !is_of_bookmark(row));
    let end = others.nth(MAX_OTHER_OBJECTS).map(|(index, _)| index);
    rows.truncate(end.unwrap_or(rows.len()));
    Ok(rows)
}

/// Locks the bookmarks of a batch, in the order in which every transaction does.
async fn lock_bookmarks(
    txn: &impl ConnectionTrait,
    user: UserId,
    batch: &[import_row::Model],
) -> Result<(), Error> {
    let of_bookmarks = batch.iter().filter(|row| is_of_bookmark(row) && row.has_created());
    let ids: Vec<Uuid> = of_bookmarks.filter_map(|row| row.object_id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let rows = bookmark::Entity::visible_to(user).filter(bookmark::Column::Id.is_in(padded(&ids)));
    bookmarks::lock(txn, rows).await.map(drop)
}

/// Ends the job and the undo.
async fn finish(core: &CoreContext, job: &job::Model, import: &import::Model) -> Result<(), JobError> {
    let (now, txn) = (core.clock.now(), begin_owned(&core.db, import.user_id).await?);
    // `false`: another worker has the job and ends the undo. Nothing is committed then.
    if jobs::finish(&txn, job, now).await? {
        collections::retain_others(&txn, import).await?;
        mark_undone(&txn, import, now).await?;
        release_file(&txn, import.user_id, import.id).await?;
        txn.commit().await?;
    }
    Ok(())
}

async fn mark_undone(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    now: Timestamp,
) -> Result<(), Error> {
    Entity::update_owned(import.user_id)
        .col_expr(Column::State, Expr::value(ImportState::Undone))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(Column::Id.eq(import.id))
        .exec(txn)
        .await?;
    Ok(())
}
