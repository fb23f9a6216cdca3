//! Imports: what a person saved elsewhere, and exports of this service, taken in row by row.
//!
//! A file comes with a row of its own ([`entity::import`]) and a job. The job has the file read in a child process, some
//! rows at a time, and takes each lot in by one transaction that also says how far it came: a crash loses nothing and
//! repeats nothing, and a person can pause it. Pages that were saved are fetched by jobs of their own behind it. What
//! became of each row is kept, for the report and for undoing the import. The file is kept as long as it may be read
//! again: it is deleted when all rows are taken in or undone, and a week after a dry run or a failure.

mod additions;
mod arriving;
mod begin;
mod extension;
mod faults;
mod file;
mod fingerprint;
mod folders;
mod highlights;
mod job;
mod known_highlights;
mod library;
mod line;
mod look;
mod made;
mod names;
mod notes;
mod pages;
mod paragraphs;
mod pause;
mod restore;
mod row_trace;
mod rows;
mod take;
mod texts;
mod undo;

use std::sync::Arc;
use std::time::Duration;

use entity::id::{ImportId, UserId};
use entity::import::{self, Column};
use entity::job as job_row;
use entity::kind::ImportState;
use entity::stored_file;
use entity::time::Timestamp;
use parse::bookmarks::{Format, ImportError, Row, RowContent};
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect,
};
use storage::blobs::BlobStore;
use web::Guard;

use actors::context::CoreContext;
use actors::auth::caller::Caller;
use crate::context::CoreContext;
use errors::Error;
use jobs::JobKind;
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::begin_request;

pub use arriving::Arriving;
pub use begin::{New, begin, find, latest, may_begin, skipped, start};
pub use faults::unlisted as unlisted_faults;
pub use file::ImportFile;
pub use job::run;
pub use names::row_names;
pub use pause::{pause, resume};
pub use rows::{Wanted, rows};
use take::{Given, Taking};
pub use texts::{Texts, texts};
pub use undo::{UndoReport, undo, undo_report};

/// What rows are taken in with.
#[derive(Clone)]
struct Means {
    /// Rows, time and places for work.
    core: CoreContext,
    /// Where pages may be fetched from.
    guard: Guard,
    /// Where files are.
    store: Arc<dyn BlobStore>,
}

/// Says of an import that its job was given up, in the transaction that gives it up.
///
/// # Errors
/// The database.
pub async fn failed(
    db: &impl ConnectionTrait,
    job: &job_row::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    mark_failed(db, job.user_id, ImportId(job.subject), reason, now).await
}

/// Says of an import why it does not go on for now.
///
/// # Errors
/// The database.
pub async fn waits(db: &impl ConnectionTrait, job: &job_row::Model, reason: &str) -> Result<(), DbErr> {
    import::Entity::update_many()
        .col_expr(Column::Error, Expr::value(reason))
        .filter(Column::UserId.eq(job.user_id))
        .filter(Column::Id.eq(ImportId(job.subject)))
        .filter(Column::State.is_in([ImportState::Running, ImportState::Undoing]))
        .exec(db)
        .await
        .map(drop)
}

async fn mark_failed(
    db: &impl ConnectionTrait,
    user: UserId,
    id: ImportId,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    let broken_off =
        [(ImportState::Running, ImportState::Failed), (ImportState::Undoing, ImportState::HalfUndone)];
    for (from, to) in broken_off {
        import::Entity::update_many()
            .col_expr(Column::State, Expr::value(to))
            .col_expr(Column::Error, Expr::value(reason))
            .col_expr(Column::FinishedAt, Expr::value(Some(now)))
            .filter(Column::UserId.eq(user))
            .filter(Column::Id.eq(id))
            .filter(Column::State.eq(from))
            .exec(db)
            .await?;
    }
    Ok(())
}

/// Rows of one transaction, where they were read already.
const LOT: usize = 100;
/// The file of a dry run, or of an import that failed, is kept for so long.
const FILE_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// No import of rows that came with their request, which has no job, takes so long.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Told of one of these that did not come to its end.
const WENT_WRONG: &str = "an internal error occurred";

/// Releases the files of imports that do not read them again or were kept long enough, and marks imports as failed that nobody
/// works on any more. What became of their rows stays.
///
/// # Errors
/// What [`DbErr`] converts to when the database fails.
pub async fn sweep(core: &CoreContext) -> Result<(), Error> {
    let (db, now) = (core.db.write(), core.clock.now());
    // Undoing does not read the file, and one that broke off can only be undone further. A paused import whose rows are all in
    // resumes without its file; `release_files` leaves the other paused ones alone.
    let without_file = [ImportState::Done, ImportState::Paused, ImportState::HalfUndone, ImportState::Undone];
    let which =
        Condition::any().add(Column::CreatedAt.lt(now - FILE_KEPT)).add(Column::State.is_in(without_file));
    release_files(db, which).await?;
    let abandoned = import::Entity::find()
        .filter(Column::CreatedAt.lt(now - LONGEST))
        .filter(Column::State.eq(ImportState::Running))
        .filter(Expr::col(Column::Id).not_in_subquery(jobs::subjects(JobKind::Import)));
    for import in abandoned.all(core.db.read()).await? {
        mark_failed(
            db,
            import.user_id,
            import.id,
            "the import was started and never finished; resume it or import the file again",
            now,
        )
        .await?;
    }
    Ok(())
}

/// Takes its file from an import that does not read it again. The clean-up of the store deletes the file within seconds.
async fn release_file(txn: &impl ConnectionTrait, id: ImportId) -> Result<(), Error> {
    stored_file::Entity::update_many()
        .col_expr(stored_file::Column::ImportId, Expr::value(None::<ImportId>))
        .filter(stored_file::Column::ImportId.eq(id))
        .exec(txn)
        .await?;
    Ok(())
}

/// Takes their files from these imports, but for those that are being worked on or are paused before their end. The clean-up
/// of the store deletes the files within seconds.
async fn release_files(db: &impl ConnectionTrait, which: Condition) -> Result<(), Error> {
    let ended = Query::select()
        .column(Column::Id)
        .from(import::Entity)
        .cond_where(which)
        .and_where(Column::State.is_not_in([ImportState::Running, ImportState::Undoing]))
        // Rows of a paused one may still be to come.
        .and_where(Column::State.ne(ImportState::Paused).or(Column::FinishedAt.is_not_null()))
        .to_owned();
    stored_file::Entity::update_many()
        .col_expr(stored_file::Column::ImportId, Expr::value(None::<ImportId>))
        .filter(Expr::col(stored_file::Column::ImportId).in_subquery(ended))
        .exec(db)
        .await?;
    Ok(())
}

/// Imports the rows of a request, as an import of their own.
///
/// # Errors
/// [`Error::LibraryFull`], the database; the lots before are in.
pub async fn take_rows(
    core: &CoreContext,
    caller: &Caller,
    format: Format,
    found: Vec<RowContent>,
) -> Result<import::Model, Error> {
    let user = caller.user;
    LibraryRoom::of_owner(core.db.read(), ctx, user).await?.must_fit(0)?;
    let new = New { user, file_name: None, format: Some(format), dry_run: false };
    let import = new.row(core.clock.now());
    import::Entity::insert(import.clone().into_active_model()).exec_without_returning(core.db.write()).await?;
    let taken = take_found(job::means(ctx), caller, import.clone(), found).await;
    if let Err(error) = &taken {
        let full = matches!(error, Error::LibraryFull { .. }).then(|| error.to_string());
        let reason = full.as_deref().unwrap_or(WENT_WRONG);
        mark_failed(core.db.write(), user, import.id, reason, core.clock.now()).await?;
    }
    taken
}

async fn take_found(
    means: Means,
    caller: &Caller,
    import: import::Model,
    found: Vec<RowContent>,
) -> Result<import::Model, Error> {
    let core = means.core.clone();
    let (db, mut taking) = (core.db.clone(), Taking::new(means, import));
    let mut rows =
        found.into_iter().zip(1..).map(|(content, line)| Given::of(Row { line, content })).peekable();
    while rows.peek().is_some() {
        let txn = begin_request(&db, caller).await?;
        library::hold(&txn, taking.import().user_id).await?;
        let own = import::Entity::one_of(taking.import().user_id, taking.import().id).lock_exclusive();
        match own.one(&txn).await?.ok_or(Error::not_found())? {
            // It was paused, or is being undone already.
            own if own.state != ImportState::Running => return Ok(own),
            _ => {}
        }
        let room = LibraryRoom::of_owner(&txn, &core, taking.import().user_id).await?;
        taking.take(&txn, rows.by_ref().take(LOT).collect()).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        if taking.is_stopped() {
            return Ok(taking.import().clone());
        }
    }
    taking.end(db.write()).await
}

/// Whether an import failed because the format of its file was neither named nor recognised.
pub fn is_format_unknown(import: &import::Model) -> bool {
    import.format.is_none()
        && import.error.as_ref().is_some_and(|error| *error == ImportError::UnknownFormat.to_string())
}

/// Columns of the file's table that are not read.
pub fn unread_columns(import: &import::Model) -> Vec<String> {
    let columns = import.unread_columns.as_deref();
    columns.and_then(|columns| serde_json::from_str(columns).ok()).unwrap_or_default()
}
