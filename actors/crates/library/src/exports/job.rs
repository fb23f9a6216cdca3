//! The job of an export: reads the rows, packs the archive on another thread, and moves it to the store.

use std::path::Path;
use std::time::Duration;

use disk::ScratchFile;
use entity::{export, job};
use jobs::JobError;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use storage::blobs::BlobError;
use tokio::sync::mpsc;
use values::id::{ExportId, FileId};
use values::kind::ExportState;

use super::archive::{ArchiveSender, pack};
use super::content;
use super::context::ExportContext;
use crate::owned_transaction::begin_owned;
use crate::stored_files::{self, FileLease, FileOwner, FileWriter};
use crate::transfer_quota::{self, TransferKind};
use errors::Error;

/// Parts of the archive that may wait to be packed.
const MAX_QUEUED_PARTS: usize = 8;

/// Interval at which the number of packed bytes is recorded.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Runs the job of an export: packs the archive, stores it, and marks the export as done. A job whose export was deleted
/// or has ended only finishes.
///
/// # Errors
/// [`JobError::LeaseLost`] when another worker has the job; the conversion of [`Error`] when the archive does not fit, or the
/// database, the disk or the store fails.
pub async fn run(ctx: &ExportContext, job: &job::Model) -> Result<(), JobError> {
    let (core, store) = (&ctx.core, &*ctx.store);
    let found = export::Entity::one_of(job.user_id, ExportId(job.subject)).one(core.db.read()).await?;
    let Some(export) = found.filter(|export| export.state == ExportState::Running) else {
        return Ok(jobs::finish(core.db.write(), job, core.clock.now()).await.map(drop)?);
    };
    // The row of the file is created first, so that the archive counts towards the limit while it is packed.
    let lease = transfer_quota::lease(core, export.user_id, TransferKind::Export, 0).await?;
    let (scratch, bytes) = match pack_archive(ctx, &export, lease.id).await {
        Ok(packed) => packed,
        Err(error) => {
            stored_files::discard(core, store, lease).await;
            return Err(error);
        }
    };
    let writer = FileWriter::begin_leased(core, store, lease, Some(bytes)).await?;
    let lease = writer.write_file(core, store, scratch.path()).await?;
    match finish_export(ctx, job, &export, &lease, bytes).await {
        Ok(()) => Ok(()),
        Err(error) => {
            stored_files::discard(core, store, lease).await;
            Err(error)
        }
    }
}

/// Finishes the job and the export, and gives the export its file, in one transaction.
async fn finish_export(
    ctx: &ExportContext,
    job: &job::Model,
    export: &export::Model,
    lease: &FileLease,
    bytes: u64,
) -> Result<(), JobError> {
    let core = &ctx.core;
    let now = core.clock.now();
    let txn = begin_owned(&core.db, job.user_id).await?;
    // First, because it checks the fencing token: an attempt that lost its lease must not replace the archive of the next one.
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    transfer_quota::finish_export(&txn, core, export.user_id, lease.id, bytes).await?;
    export::Entity::update_owned(export.user_id)
        .col_expr(export::Column::State, Expr::value(ExportState::Done))
        .col_expr(export::Column::Error, Expr::value(None::<String>))
        .col_expr(export::Column::Bytes, Expr::value(i64::try_from(bytes).ok()))
        .col_expr(export::Column::FinishedAt, Expr::value(Some(now)))
        .filter(export::Column::Id.eq(export.id))
        .exec(&txn)
        .await?;
    if !stored_files::assign(&txn, lease.id, FileOwner::Export(export.id)).await? {
        return Err(Error::internal("a file was removed while it was written").into());
    }
    Ok(txn.commit().await?)
}

/// Packs the archive into a scratch file. Its length in bytes is reserved for the stored file of this id.
async fn pack_archive(
    ctx: &ExportContext,
    export: &export::Model,
    id: FileId,
) -> Result<(ScratchFile, u64), JobError> {
    // The length is not known before, so space is reserved while the archive grows.
    let reservation = ctx.scratch.reserve(None).map_err(BlobError::from)?;
    let (scratch, file) = ctx.scratch.file().map_err(BlobError::from)?;
    let (sender, mut parts) = mpsc::channel(MAX_QUEUED_PARTS);
    let packing = tokio::task::spawn_blocking(move || pack(file, reservation, &mut parts));
    let written = tokio::select! {
        written = content::write_all(ctx, export, ArchiveSender(&sender)) => written,
        error = report_progress(ctx, export, id, scratch.path()) => Err(error),
    };
    // The end of the channel ends the packing, also after an error of the writer.
    drop(sender);
    // An error of the packing thread comes first: it is the cause when the writer finds the channel closed.
    let bytes = packing.await.map_err(Error::internal)?.map_err(BlobError::from)?;
    written?;
    transfer_quota::reserve(&ctx.core, export.user_id, id, TransferKind::Export, bytes).await?;
    Ok((scratch, bytes))
}

/// Records the number of packed bytes and reserves them, at intervals. Ends with the first error: of the database or the file, or
/// when the disk's floor or the plan's limit is reached.
async fn report_progress(ctx: &ExportContext, export: &export::Model, id: FileId, file: &Path) -> Error {
    loop {
        let bytes = match record_progress(ctx, export, file).await {
            Ok(bytes) => bytes,
            Err(error) => return error,
        };
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        // Reserved after the pause: a small export is packed by then, so this transaction is rarely cancelled.
        match transfer_quota::reserve(&ctx.core, export.user_id, id, TransferKind::Export, bytes).await {
            // Another transaction of the user takes long; the next round reserves more.
            Ok(()) | Err(Error::Busy(_)) => {}
            Err(error) => return error,
        }
    }
}

/// Records the number of bytes that are packed so far, and returns it.
async fn record_progress(ctx: &ExportContext, export: &export::Model, file: &Path) -> Result<u64, Error> {
    let bytes = tokio::fs::metadata(file).await.map_err(BlobError::from)?.len();
    export::Entity::update_owned(export.user_id)
        .col_expr(export::Column::Bytes, Expr::value(i64::try_from(bytes).ok()))
        .filter(export::Column::Id.eq(export.id))
        // The progress of an attempt that lost its lease must not overwrite the length of a packed archive.
        .filter(export::Column::State.eq(ExportState::Running))
        .exec(ctx.core.db.write())
        .await?;
    ctx.disk.require_room()?;
    Ok(bytes)
}
