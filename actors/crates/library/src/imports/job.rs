//! The job of an import: reads the file and applies its rows in batches, until it ends, is paused, or yields to other jobs.

use std::time::{Duration, Instant};

use database::Transaction;
use entity::{import, job, stored_file};
use jobs::{JobError, Priority};
use sandbox::import::ImportReader;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use storage::blobs::BlobError;
use values::id::ImportId;
use values::kind::ImportState;
use values::time::Timestamp;

use super::batch_size::{self, BatchSize};
use super::context::ImportContext;
use super::library_lock::lock_library;
use super::queue_room::QueueRoom;
use super::reading::{ReadAhead, ReadError, RowInput};
use super::retention::release_file;
use super::session::ImportSession;
use super::undo;
use crate::context::CoreContext;
use crate::documents;
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::begin_owned;
use errors::Error;

/// Time after which the job yields to others. If it took longer to skip the rows that were done before, four times as long:
/// otherwise a long file would be read for nothing else.
const RUN_TIME: Duration = Duration::from_secs(30);

/// Runs the job of an import, or of its undo.
///
/// # Errors
/// [`JobError::Blocked`] while the user's queue is full; [`JobError::Permanent`] when the file is missing or cannot be read;
/// others as of every job.
pub async fn run(context: &ImportContext, job: &job::Model) -> Result<(), JobError> {
    let core = &context.core;
    let row = import::Entity::one_of(job.user_id, ImportId(job.subject)).one(core.db.read()).await?;
    match row {
        Some(import) if import.state == ImportState::Running => apply_file(context, job, import).await,
        Some(import) if import.state == ImportState::Undoing => {
            undo::run(context, job, &import, Instant::now() + RUN_TIME).await
        }
        // Paused, ended or removed since the job was enqueued. Resuming and undoing enqueue a new one.
        Some(_) | None => Ok(jobs::finish(core.db.write(), job, core.clock.now()).await.map(drop)?),
    }
}

async fn apply_file(
    context: &ImportContext,
    job: &job::Model,
    import: import::Model,
) -> Result<(), JobError> {
    let core = &context.core;
    let mut reader = open_file(context, &import).await?;
    let import = record_format(context, import, &reader).await?;
    let (mut began, mut session) = (Instant::now(), ImportSession::new(context.clone(), import));
    session.skip_done_rows(&mut reader).await.map_err(job_error)?;
    let run_time = RUN_TIME.max(began.elapsed() * 4);
    began = Instant::now();
    let (mut size, mut room, mut file) = (BatchSize::default(), QueueRoom::default(), ReadAhead::new(reader));
    let mut batch = Vec::new();
    loop {
        room.require(core.db.read(), session.import()).await?;
        if batch.is_empty() {
            // Before the transaction: it may copy files of gigabytes from the archive.
            let next = file.next_batch(context, session.import(), size.rows()).await;
            batch = next.map_err(job_error)?;
        }
        if batch.is_empty() {
            return finish(core, job, session).await;
        }
        let (read, max_rows) = (batch.len(), size.rows());
        // The child parses the next rows meanwhile.
        let (applied, ()) = tokio::join!(
            apply_batch(context, job, &mut session, &mut size, batch),
            file.read_ahead(max_rows)
        );
        let Some(rest) = applied? else { return Ok(()) };
        room.take(read - rest.len());
        batch = rest;
        if began.elapsed() > run_time {
            let yielded = jobs::yield_job(core.db.write(), job, 0, Priority::of(job), core.clock.now());
            return Ok(yielded.await.map(drop)?);
        }
    }
}

/// Begins the transaction of a batch, which locks the import. Returns `None` if the import runs no more; its job has ended then.
async fn begin_batch(
    core: &CoreContext,
    job: &job::Model,
    session: &ImportSession,
    now: Timestamp,
) -> Result<Option<Transaction>, JobError> {
    let txn = begin_owned(&core.db, job.user_id).await?;
    // A dry run changes nothing in the library, so it need not wait for other imports.
    if !session.import().is_dry_run {
        lock_library(&txn, job.user_id).await?;
    }
    // The lock orders this batch with a pause: either the pause is seen here, or it waits until the batch is committed.
    let own = import::Entity::one_of(job.user_id, ImportId(job.subject)).lock_exclusive();
    if own.one(&txn).await?.is_some_and(|import| import.state == ImportState::Running) {
        return Ok(Some(txn));
    }
    // The user paused it, or the account was removed.
    jobs::finish(&txn, job, now).await?;
    txn.commit().await?;
    Ok(None)
}

/// Applies a batch and keeps the progress. Returns the rows of the batch that are left to the next one; `None` if the job has ended: the
/// import runs no more, or a run of faults stopped it.
async fn apply_batch(
    context: &ImportContext,
    job: &job::Model,
    session: &mut ImportSession,
    size: &mut BatchSize,
    mut batch: Vec<RowInput>,
) -> Result<Option<Vec<RowInput>>, JobError> {
    let (core, now) = (&context.core, context.core.clock.now());
    let max_library_bytes = batch_size::max_library_bytes(&batch);
    let Some(txn) = begin_batch(core, job, session, now).await? else { return Ok(None) };
    let began = Instant::now();
    // Also counts as progress: crashes before it are forgotten, and only a batch that crashes every time ends the job.
    if !jobs::advance(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    let room = LibraryRoom::of_owner(&txn, core, job.user_id).await?;
    let rows =
        batch_size::rows_within_bounds(batch.len(), max_library_bytes, room.free_bytes(), session.import());
    let rest = batch.split_off(rows);
    session.apply(&txn, batch).await?;
    // A batch that does not fit is rolled back as a whole: the import fails, and continues with this batch when it is resumed.
    room.must_hold(&txn).await?;
    if session.is_stopped() {
        jobs::finish(&txn, job, now).await?;
    }
    txn.commit().await?;
    size.record(rows, began.elapsed());
    context.job_signal.notify();
    Ok((!session.is_stopped()).then_some(rest))
}

/// Ends the import after its last row, and its job.
async fn finish(core: &CoreContext, job: &job::Model, session: ImportSession) -> Result<(), JobError> {
    let now = core.clock.now();
    let Some(txn) = begin_batch(core, job, &session, now).await? else { return Ok(()) };
    // `false`: another worker has the job. Nothing is committed then.
    if jobs::finish(&txn, job, now).await? {
        let ended = session.finish(&txn).await?;
        // A dry run reads its file again when it is started.
        if ended.state == ImportState::Done {
            release_file(&txn, ended.user_id, ended.id).await?;
        }
        txn.commit().await?;
    }
    Ok(())
}

fn job_error(error: ReadError) -> JobError {
    match error {
        ReadError::Sandbox(error) => documents::parser_job_error(error),
        ReadError::Internal(error) => error.into(),
    }
}

/// Opens the import's file in a child process.
async fn open_file(context: &ImportContext, import: &import::Model) -> Result<ImportReader, JobError> {
    let missing = || JobError::Permanent("the file of the import is missing; import it again".to_owned());
    let stored = stored_file::Entity::of_import(import.id).one(context.core.db.read()).await?;
    let stored = stored.ok_or_else(missing)?;
    let local = match context.store.local_file(&stored.path).await {
        Ok(local) => local,
        Err(BlobError::Missing) => return Err(missing()),
        Err(error) => return Err(error.into()),
    };
    let path = local.path().to_owned();
    // A `std` file, whose descriptor goes to the child process. Opened on a thread that may block.
    let file = tokio::task::spawn_blocking(move || std::fs::File::open(path)).await;
    let file = file.map_err(Error::internal)?.map_err(BlobError::from)?;
    let format = import.format.as_deref().and_then(|name| name.parse().ok());
    context.sandbox.open_import(file, format).await.map_err(documents::parser_job_error)
}

/// Records the format that was detected, and the columns of the file that are not imported.
async fn record_format(
    context: &ImportContext,
    import: import::Model,
    reader: &ImportReader,
) -> Result<import::Model, JobError> {
    if import.format.is_some() && import.unread_columns.is_some() {
        return Ok(import);
    }
    let columns = serde_json::to_string(reader.unread_columns()).map_err(Error::internal)?;
    let import = import::Model {
        format: Some(reader.format().name().to_owned()),
        unread_columns: Some(columns),
        ..import
    };
    // An owned transaction, because the names of the columns count towards the library.
    let txn = begin_owned(&context.core.db, import.user_id).await?;
    import::Entity::update_owned(import.user_id)
        .col_expr(import::Column::Format, Expr::value(import.format.clone()))
        .col_expr(import::Column::UnreadColumns, Expr::value(import.unread_columns.clone()))
        .filter(import::Column::Id.eq(import.id))
        .exec(&txn)
        .await?;
    txn.commit().await?;
    Ok(import)
}
