//! The files of the store and their owners. A file has a row before its first byte is written and until its last byte is
//! deleted. A file without an owner that is not being written is deleted ([`sweep`]). So no file is left behind when a process
//! dies, or when an upload, a bookmark or an account is deleted.

use std::path::Path;
use std::time::Duration;

use concurrency::Heartbeat;
use database::Db;
use entity::stored_file::{Column, Entity, Model};
use entity::upload;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use storage::blobs::{BlobError, BlobStore, BlobWriter, PART_BYTES, blob_path};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio_util::bytes::Bytes;
use tracing::warn;
use values::id::{DocumentId, ExportId, FileId, ImportId, UploadId, UserId};
use values::time::Timestamp;

use crate::context::CoreContext;
use errors::Error;

/// The writer of a file renews its lease at a third of this; a file whose lease has expired may be deleted.
const LEASE_DURATION: Duration = Duration::from_secs(30);
/// Delay before another attempt to delete a file that could not be deleted.
const DELETE_RETRY_DELAY: Duration = Duration::from_secs(600);
/// Files that one sweep deletes at most.
const SWEEP_BATCH_FILES: u64 = 200;

/// The lease of a file that is being written or waits for its owner. The file is not deleted while this value lives.
#[derive(Debug)]
pub struct FileLease {
    /// Id of the file's row, by which it is assigned to its owner.
    pub id: FileId,
    /// Path in the store to which the bytes are written.
    pub path: String,
    _heartbeat: Heartbeat,
}

/// Creates the row of a file that is about to be written, and leases it. If its bytes are received for an upload, the upload
/// counts towards the user's stored bytes from now on.
///
/// # Errors
/// [`Error`] when the database fails; the file must not be written then.
pub async fn lease(core: &CoreContext, upload: Option<(UserId, UploadId)>) -> Result<FileLease, Error> {
    // Committed before the first byte: if the process dies while the file is written, `sweep` finds it by the row.
    let row = new_row(core);
    Entity::insert(row.clone().into_active_model()).exec_without_returning(core.db.write()).await?;
    mark_receiving(&core.db, upload, row.keep_until).await?;
    Ok(start_lease(core, upload, row))
}

/// Returns the row of a file that is about to be written and has no owner yet.
pub(crate) fn new_row(core: &CoreContext) -> Model {
    let now = core.clock.now();
    let id = FileId::new(now);
    Model {
        id,
        upload_id: None,
        import_id: None,
        export_id: None,
        document_id: None,
        user_id: None,
        bytes: 0,
        path: blob_path(id),
        keep_until: now + LEASE_DURATION,
        is_being_deleted: false,
    }
}

/// Starts to renew the lease of a file whose row was just inserted; it is renewed as long as the returned value lives.
pub(crate) fn start_lease(core: &CoreContext, upload: Option<(UserId, UploadId)>, row: Model) -> FileLease {
    let (db, clock, id) = (core.db.clone(), core.clock.clone(), row.id);
    let heartbeat = Heartbeat::every(LEASE_DURATION / 3, "a file is being written", move || {
        let (db, until) = (db.clone(), clock.now() + LEASE_DURATION);
        async move { renew(&db, id, upload, until).await.map_err(|error| error.chain()) }
    });
    FileLease { id, path: row.path, _heartbeat: heartbeat }
}

/// Extends the lease of a file, and the state of the upload whose bytes it receives.
async fn renew(
    db: &Db,
    id: FileId,
    upload: Option<(UserId, UploadId)>,
    until: Timestamp,
) -> Result<(), Error> {
    renew_lease(db, id, until).await?;
    mark_receiving(db, upload, until).await
}

async fn renew_lease(db: &Db, id: FileId, until: Timestamp) -> Result<(), Error> {
    // A late renewal must not hold a file that has its owner by now: once the owner is deleted, so is the file.
    Entity::update_unowned(id)
        .col_expr(Column::KeepUntil, Expr::value(until))
        .filter(Column::IsBeingDeleted.eq(false))
        .exec(db.write())
        .await?;
    Ok(())
}

/// Records that an upload receives bytes, at least until this time.
async fn mark_receiving(db: &Db, upload: Option<(UserId, UploadId)>, until: Timestamp) -> Result<(), Error> {
    let Some((user, upload)) = upload else { return Ok(()) };
    upload::Entity::update_owned(user)
        .col_expr(upload::Column::ReceivingUntil, Expr::value(until))
        .filter(upload::Column::Id.eq(upload))
        .exec(db.write())
        .await?;
    Ok(())
}

/// The owner of a file.
#[derive(Clone, Copy, Debug)]
pub enum FileOwner {
    /// The upload for which the bytes were received.
    Upload(UploadId),
    /// The import that reads the file, until it needs it no more.
    Import(ImportId),
    /// The export of which the file is the archive.
    Export(ExportId),
    /// The document of a fetched recording, until it is transcribed.
    Document(DocumentId),
}

/// Assigns a written file to its upload, in the transaction that records its arrival. A file that the upload had before has no
/// owner from then on. Returns `false` if the file is being deleted because its lease had expired.
pub async fn assign_to_upload(
    txn: &impl ConnectionTrait,
    file: FileId,
    upload: UploadId,
    until: Timestamp,
) -> Result<bool, Error> {
    detach_from_upload(txn, upload, until).await?;
    assign(txn, file, FileOwner::Upload(upload)).await
}

/// Assigns a written file to its owner. Returns `false` if the file is being deleted because its lease had expired.
pub async fn assign(txn: &impl ConnectionTrait, file: FileId, owner: FileOwner) -> Result<bool, Error> {
    let update = match owner {
        FileOwner::Upload(id) => Entity::update_many().col_expr(Column::UploadId, Expr::value(Some(id))),
        FileOwner::Import(id) => Entity::update_many().col_expr(Column::ImportId, Expr::value(Some(id))),
        FileOwner::Export(id) => Entity::update_many().col_expr(Column::ExportId, Expr::value(Some(id))),
        FileOwner::Document(id) => Entity::update_many().col_expr(Column::DocumentId, Expr::value(Some(id))),
    };
    let assigned = update
        // The file is complete: once its owner is deleted, it may be deleted without waiting for the lease.
        .col_expr(Column::KeepUntil, Expr::value(Timestamp::from_millis(0)))
        .filter(Column::Id.eq(file))
        // Decides the race with `delete`, which marks the row first: whichever update comes second finds nothing to change.
        .filter(Column::IsBeingDeleted.eq(false))
        .exec(txn)
        .await?;
    Ok(assigned.rows_affected > 0)
}

/// Detaches an upload's files from it. They are deleted by [`sweep`], but not before `until`.
pub async fn detach_from_upload(
    txn: &impl ConnectionTrait,
    upload: UploadId,
    until: Timestamp,
) -> Result<(), Error> {
    Entity::update_of_upload(upload)
        .col_expr(Column::UploadId, Expr::value(None::<UploadId>))
        .col_expr(Column::KeepUntil, Expr::value(until))
        .exec(txn)
        .await?;
    Ok(())
}

/// Writes a file to the store, from its first byte until it is complete.
pub struct FileWriter {
    lease: FileLease,
    blob: Box<dyn BlobWriter>,
}

impl FileWriter {
    /// Begins a file of unknown length.
    ///
    /// # Errors
    /// [`Error`] when the database or the store fails, such as [`Error::StorageFull`]; nothing is left then.
    pub async fn begin(core: &CoreContext, store: &dyn BlobStore) -> Result<Self, Error> {
        Self::begin_with_length(core, store, None).await
    }

    /// Begins a file of this length in bytes, if it is known.
    ///
    /// # Errors
    /// [`Error`] when the database or the store fails, such as [`Error::StorageFull`]; nothing is left then.
    pub async fn begin_with_length(
        core: &CoreContext,
        store: &dyn BlobStore,
        length: Option<u64>,
    ) -> Result<Self, Error> {
        let lease = lease(core, None).await?;
        Self::begin_leased(core, store, lease, length).await
    }

    /// Begins a file that has its row already, of this length in bytes, if it is known.
    ///
    /// # Errors
    /// [`Error`] when the store fails; the row is deleted then.
    pub async fn begin_leased(
        core: &CoreContext,
        store: &dyn BlobStore,
        lease: FileLease,
        length: Option<u64>,
    ) -> Result<Self, Error> {
        match store.create(&lease.path, length).await {
            Ok(blob) => Ok(Self { lease, blob }),
            Err(error) => {
                discard(core, store, lease).await;
                Err(error.into())
            }
        }
    }

    /// Copies a local file to the store.
    ///
    /// # Errors
    /// [`Error`] when the file cannot be read, or the database or the store fails; nothing is left then.
    pub async fn store_copy(
        core: &CoreContext,
        store: &dyn BlobStore,
        file: &Path,
    ) -> Result<FileLease, Error> {
        let length = tokio::fs::metadata(file).await.map_err(BlobError::from)?.len();
        Self::begin_with_length(core, store, Some(length)).await?.write_file(core, store, file).await
    }

    /// Writes the content of a local file and finishes.
    ///
    /// # Errors
    /// [`Error`] when the file cannot be read, or the store fails; nothing is left then.
    pub async fn write_file(
        mut self,
        core: &CoreContext,
        store: &dyn BlobStore,
        file: &Path,
    ) -> Result<FileLease, Error> {
        match self.append(file).await {
            Ok(()) => self.finish(core, store).await,
            Err(error) => {
                self.abort(core, store).await;
                Err(error)
            }
        }
    }

    /// Returns the id of the file's row, for which bytes are reserved while it is written.
    pub fn id(&self) -> FileId {
        self.lease.id
    }

    async fn append(&mut self, file: &Path) -> Result<(), Error> {
        let mut file = File::open(file).await.map_err(BlobError::from)?;
        loop {
            let mut part = Vec::with_capacity(PART_BYTES);
            (&mut file).take(PART_BYTES as u64).read_to_end(&mut part).await.map_err(BlobError::from)?;
            if part.is_empty() {
                return Ok(());
            }
            self.write(Bytes::from(part)).await?;
        }
    }

    /// Appends bytes; after an error nothing more can be appended.
    ///
    /// # Errors
    /// [`Error`] when the store fails, such as [`Error::StorageFull`] when the part does not fit on its disk.
    pub async fn write(&mut self, part: Bytes) -> Result<(), Error> {
        Ok(self.blob.write(part).await?)
    }

    /// Completes the file. It must be assigned to its owner while the returned lease lives.
    ///
    /// # Errors
    /// [`Error`] when the store fails; nothing is left then.
    pub async fn finish(self, core: &CoreContext, store: &dyn BlobStore) -> Result<FileLease, Error> {
        let Self { lease, blob } = self;
        match blob.finish().await {
            Ok(()) => Ok(lease),
            Err(error) => {
                discard(core, store, lease).await;
                Err(error.into())
            }
        }
    }

    /// Deletes what was written so far, together with the file's row. A failure is logged, and [`sweep`] deletes the file later.
    pub async fn abort(self, core: &CoreContext, store: &dyn BlobStore) {
        self.blob.abort().await;
        discard(core, store, self.lease).await;
    }
}

/// Ends a lease. If the file was assigned to no owner, it is deleted now, or by the next [`sweep`] when that fails.
pub async fn discard(core: &CoreContext, store: &dyn BlobStore, lease: FileLease) {
    let (id, path) = (lease.id, lease.path.clone());
    // The heartbeat ends before the deletion, so that it does not renew the lease of a file that is being deleted.
    drop(lease);
    // Logged rather than returned: the caller reports its own failure, and the row lets `sweep` try again.
    if let Err(error) = delete(core, store, id, &path).await {
        warn!(cause = error.chain(), "could not delete a file without an owner; the next clean-up retries");
    }
}

/// Deletes files that have no owner and whose lease has expired. A file that the store fails to delete is retried later; the
/// others are deleted all the same.
pub async fn sweep(core: &CoreContext, store: &dyn BlobStore) -> Result<(), Error> {
    let unowned = Entity::unused(core.clock.now()).limit(SWEEP_BATCH_FILES).all(core.db.read()).await?;
    for file in unowned {
        if let Err(error) = delete(core, store, file.id, &file.path).await {
            warn!(cause = error.chain(), file.id = %file.id, "could not delete a file without an owner");
            // Otherwise files that the store cannot delete could fill every sweep, which would reach no others.
            postpone_deletion(core, file.id).await?;
        }
    }
    Ok(())
}

async fn postpone_deletion(core: &CoreContext, id: FileId) -> Result<(), Error> {
    Entity::update_unowned(id)
        .col_expr(Column::KeepUntil, Expr::value(core.clock.now() + DELETE_RETRY_DELAY))
        .exec(core.db.write())
        .await?;
    Ok(())
}

async fn delete(core: &CoreContext, store: &dyn BlobStore, id: FileId, path: &str) -> Result<(), Error> {
    // A file that is marked can no longer be assigned to an owner, so its bytes may be deleted.
    let marked = Entity::update_unowned(id)
        .col_expr(Column::IsBeingDeleted, Expr::value(true))
        .exec(core.db.write())
        .await?;
    if marked.rows_affected == 0 {
        return Ok(());
    }
    // Bytes before row: a crash between the two leaves a marked row, which the next sweep removes. The other order would leave
    // bytes that no row names. Removing a file that does not exist succeeds.
    store.remove(path).await?;
    Entity::delete_by_id(id).exec(core.db.write()).await?;
    Ok(())
}
