//! The job of an export: gathered from the rows, packed on a thread of its own, and put into the store.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use disk::{DiskReservation, ScratchFile};
use entity::id::{ExportId, FileId};
use entity::kind::ExportState;
use entity::{export, job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use storage::blobs::BlobError;
use tokio::sync::mpsc;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::gather;
use actors::context::CoreContext;
use errors::Error;
use jobs::JobError;
use crate::owned_transaction::begin_owned;
use crate::transfer_quota::{self, TransferKind};
use crate::stored_files::{self, Held, Owner, Written};

/// Parts that wait for the disk.
const WAITING: usize = 8;

/// How often it is recorded how much is packed.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// What goes into the archive, in its order.
pub enum Part {
    /// A file begins; one that is packed already gets no smaller.
    File {
        /// Its name.
        name: String,
        /// Whether it is worth packing.
        packed: bool,
    },
    /// More of the file that began last.
    Bytes(Vec<u8>),
}

/// Runs the job.
///
/// # Errors
/// [`JobError`], as every job.
pub async fn run(core: &CoreContext, job: &job::Model) -> Result<(), JobError> {
    let found = export::Entity::one_of(job.user_id, ExportId(job.subject)).one(core.db.read()).await?;
    let Some(export) = found.filter(|export| export.state == ExportState::Running) else {
        return Ok(jobs::finish(core.db.write(), job, core.clock.now()).await.map(drop)?);
    };
    // The row of the file counts what is packed from its beginning.
    let held = transfer_quota::hold(ctx, export.user_id, TransferKind::Export, 0).await?;
    let (scratch, bytes) = match packed(ctx, &export, held.id).await {
        Ok(packed) => packed,
        Err(failure) => {
            stored::discard(ctx, &*ctx.uploads.store, held).await;
            return Err(failure);
        }
    };
    let written = Written::of(ctx, &*ctx.uploads.store, held, Some(bytes)).await?;
    let held = written.copy(ctx, &*ctx.uploads.store, scratch.path()).await?;
    match settle(ctx, job, &export, &held, bytes).await {
        Ok(()) => Ok(()),
        Err(failure) => {
            stored::discard(ctx, &*ctx.uploads.store, held).await;
            Err(failure)
        }
    }
}

async fn settle(
    core: &CoreContext,
    job: &job::Model,
    export: &export::Model,
    held: &Held,
    bytes: u64,
) -> Result<(), JobError> {
    let now = core.clock.now();
    let txn = begin_owned(&core.db, job.user_id).await?;
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    transfer_quota::finish_export(&txn, ctx, export.user_id, held.id, bytes).await?;
    export::Entity::update_many()
        .col_expr(export::Column::State, Expr::value(ExportState::Done))
        .col_expr(export::Column::Error, Expr::value(None::<String>))
        .col_expr(export::Column::Bytes, Expr::value(i64::try_from(bytes).ok()))
        .col_expr(export::Column::FinishedAt, Expr::value(Some(now)))
        .filter(export::Column::UserId.eq(export.user_id))
        .filter(export::Column::Id.eq(export.id))
        .exec(&txn)
        .await?;
    if !stored::give(&txn, held.id, Owner::Export(export.id)).await? {
        return Err(Error::internal("a file was removed while it was written").into());
    }
    Ok(txn.commit().await?)
}

/// The archive, as a file that is worked on, and its length, which is reserved for the stored file of this id.
async fn packed(core: &CoreContext, export: &export::Model, id: FileId) -> Result<(ScratchFile, u64), JobError> {
    let reservation = ctx.uploads.scratch.reserve(None).map_err(BlobError::from)?;
    let (scratch, file) = ctx.uploads.scratch.file().map_err(BlobError::from)?;
    let (to, mut from) = mpsc::channel(WAITING);
    let packing = tokio::task::spawn_blocking(move || pack(file, reservation, &mut from));
    let gathered = tokio::select! {
        gathered = gather::all(ctx, export, &to) => gathered,
        error = report_progress(ctx, export, id, scratch.path()) => Err(error),
    };
    drop(to);
    let bytes = packing.await.map_err(Error::internal)?.map_err(BlobError::from)?;
    gathered?;
    transfer_quota::reserve(ctx, export.user_id, id, TransferKind::Export, bytes).await?;
    Ok((scratch, bytes))
}

/// Records how much is packed and reserves it, again and again. Ends with the first error: of the database or the file, or when
/// the disk's floor or the plan's limit is reached.
async fn report_progress(core: &CoreContext, export: &export::Model, id: FileId, file: &Path) -> Error {
    loop {
        let bytes = match record_progress(ctx, export, file).await {
            Ok(bytes) => bytes,
            Err(error) => return error,
        };
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        // After the pause: a small export is packed by then, so that this transaction is rarely cut off by the end.
        match transfer_quota::reserve(ctx, export.user_id, id, TransferKind::Export, bytes).await {
            // Another transaction of the user takes long; the next round reserves more.
            Ok(()) | Err(Error::Busy(_)) => {}
            Err(error) => return error,
        }
    }
}

/// Records how much is packed so far; that many bytes.
async fn record_progress(core: &CoreContext, export: &export::Model, file: &Path) -> Result<u64, Error> {
    let bytes = tokio::fs::metadata(file).await.map_err(BlobError::from)?.len();
    super::record_packed_bytes(ctx, export, i64::try_from(bytes).ok()).await?;
    ctx.disk.require_room()?;
    Ok(bytes)
}

fn pack(
    file: std::fs::File,
    mut reservation: DiskReservation,
    parts: &mut mpsc::Receiver<Part>,
) -> io::Result<u64> {
    let mut zip = ZipWriter::new(file);
    while let Some(part) = parts.blocking_recv() {
        match part {
            Part::File { name, packed } => {
                let how =
                    if packed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
                let options = SimpleFileOptions::default().compression_method(how).large_file(true);
                zip.start_file(name, options)?;
            }
            Part::Bytes(bytes) => {
                // Packed they are fewer: that much more is announced until the disk is measured.
                reservation.require(bytes.len() as u64)?;
                zip.write_all(&bytes)?;
                reservation.record_written(bytes.len() as u64);
            }
        }
    }
    let file = zip.finish()?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}
