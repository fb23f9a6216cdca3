//! Which files the store holds and to what they belong. A row is there before a file's first byte and until its last is
//! gone; a file that belongs to nothing and that nobody writes is removed. So whatever dies in between, and whoever
//! removes an upload, a bookmark or an account, no file is left behind.

use std::path::Path;
use std::time::Duration;

use database::Db;
use entity::id::{DocumentId, ExportId, FileId, ImportId, UploadId};
use entity::stored_file::{Column, Entity, Model};
use entity::time::Timestamp;
use entity::upload;
use runtime::Heartbeat;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use storage::blobs::{BlobError, BlobStore, BlobWriter, PART_BYTES, blob_path};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio_util::bytes::Bytes;
use tracing::warn;

use actors::context::CoreContext;
use crate::context::CoreContext;
use errors::Error;

/// Whoever writes a file and says nothing for so long is taken for dead. It renews at a third of that.
const HELD: Duration = Duration::from_secs(30);
/// A file that could not be removed is tried again after this.
const PUT_OFF: Duration = Duration::from_secs(600);
const AT_ONCE: u64 = 200;

/// A file that is being written: nobody removes it as long as this lives.
#[derive(Debug)]
pub struct Held {
    /// The file.
    pub id: FileId,
    /// Its path in the store.
    pub path: String,
    _heartbeat: Heartbeat,
}

/// Names a file that is about to be written; where its bytes come for an upload, that takes up room from now on.
///
/// # Errors
/// The rows cannot be written; then there is to be no file.
pub async fn hold(
    core: &CoreContext,
    upload: Option<UploadId>,
    path: impl FnOnce(FileId) -> String,
) -> Result<Held, Error> {
    let row = new_row(core, path);
    Entity::insert(row.clone().into_active_model()).exec_without_returning(core.db.write()).await?;
    take_up_room(&core.db, upload, row.held_until).await?;
    Ok(keep_alive(core, upload, row))
}

/// The row of a file that is about to be written and belongs to nothing yet.
pub(crate) fn new_row(core: &CoreContext, path: impl FnOnce(FileId) -> String) -> Model {
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
        path: path(id),
        held_until: now + HELD,
        doomed: false,
    }
}

/// Renews the row of a file, which was inserted just now, for as long as the result lives.
pub(crate) fn keep_alive(core: &CoreContext, upload: Option<UploadId>, row: Model) -> Held {
    let (db, clock, id) = (core.db.clone(), core.clock.clone(), row.id);
    let heartbeat = Heartbeat::every(HELD / 3, "a file is being written", move || {
        let (db, until) = (db.clone(), clock.now() + HELD);
        async move {
            renew(&db, id, until).await?;
            take_up_room(&db, upload, until).await
        }
    });
    Held { id, path: row.path, _heartbeat: heartbeat }
}

async fn renew(db: &Db, id: FileId, until: Timestamp) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::HeldUntil, Expr::value(until))
        .filter(Column::Id.eq(id))
        .filter(Entity::is_unowned())
        .filter(Column::Doomed.eq(false))
        .exec(db.write())
        .await?;
    Ok(())
}

/// Bytes come for this upload, until then at least.
async fn take_up_room(db: &Db, upload: Option<UploadId>, until: Timestamp) -> Result<(), Error> {
    let Some(upload) = upload else { return Ok(()) };
    upload::Entity::update_many()
        .col_expr(upload::Column::ReceivingUntil, Expr::value(until))
        .filter(upload::Column::Id.eq(upload))
        .exec(db.write())
        .await?;
    Ok(())
}

/// What a file belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// An upload.
    Upload(UploadId),
    /// An import.
    Import(ImportId),
    /// An export.
    Export(ExportId),
    /// A document whose recording was fetched.
    Document(DocumentId),
}

/// Gives a written file to its upload, in the transaction that says so of the upload; what the upload had before belongs
/// to nothing from then on. `false`: the file is being removed, its writer was taken for dead.
///
/// # Errors
/// The database.
pub async fn attach(
    txn: &impl ConnectionTrait,
    file: FileId,
    upload: UploadId,
    until: Timestamp,
) -> Result<bool, Error> {
    loosen(txn, upload, until).await?;
    give(txn, file, Owner::Upload(upload)).await
}

/// Gives a written file to what it belongs to. `false`: the file is being removed, its writer was taken for dead.
///
/// # Errors
/// The database.
pub async fn give(txn: &impl ConnectionTrait, file: FileId, owner: Owner) -> Result<bool, Error> {
    let given = match owner {
        Owner::Upload(id) => Entity::update_many().col_expr(Column::UploadId, Expr::value(Some(id))),
        Owner::Import(id) => Entity::update_many().col_expr(Column::ImportId, Expr::value(Some(id))),
        Owner::Export(id) => Entity::update_many().col_expr(Column::ExportId, Expr::value(Some(id))),
        Owner::Document(id) => Entity::update_many().col_expr(Column::DocumentId, Expr::value(Some(id))),
    };
    let given = given
        // Nobody writes it any more: it may go as soon as the upload does.
        .col_expr(Column::HeldUntil, Expr::value(Timestamp::from_millis(0)))
        .filter(Column::Id.eq(file))
        .filter(Column::Doomed.eq(false))
        .exec(txn)
        .await?;
    Ok(given.rows_affected > 0)
}

/// Takes an upload's files from it; they are left alone until then.
///
/// # Errors
/// The database.
pub async fn loosen(txn: &impl ConnectionTrait, upload: UploadId, until: Timestamp) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::UploadId, Expr::value(None::<UploadId>))
        .col_expr(Column::HeldUntil, Expr::value(until))
        .filter(Column::UploadId.eq(upload))
        .exec(txn)
        .await?;
    Ok(())
}

/// A file that this service writes, from its first byte until it belongs to something.
pub struct Written {
    held: Held,
    writing: Box<dyn BlobWriter>,
}

impl Written {
    /// Begins a file whose length is not known.
    ///
    /// # Errors
    /// There is no row, or no room for it.
    pub async fn begin(core: &CoreContext, store: &dyn BlobStore) -> Result<Self, Error> {
        Self::begin_announced(core, store, None).await
    }

    /// Begins a file of this length in bytes, where that is known.
    ///
    /// # Errors
    /// There is no row, or no room for it.
    pub async fn begin_announced(
        core: &CoreContext,
        store: &dyn BlobStore,
        length: Option<u64>,
    ) -> Result<Self, Error> {
        let held = hold(core, None, blob_path).await?;
        Self::of(core, store, held, length).await
    }

    /// Begins a file that has its row already, of this length in bytes, where that is known.
    ///
    /// # Errors
    /// Those of the store; then the row is removed.
    pub async fn of(
        core: &CoreContext,
        store: &dyn BlobStore,
        held: Held,
        length: Option<u64>,
    ) -> Result<Self, Error> {
        match store.create(&held.path, length).await {
            Ok(writing) => Ok(Self { held, writing }),
            Err(error) => {
                discard(core, store, held).await;
                Err(error.into())
            }
        }
    }

    /// A file of this machine, copied to the store.
    ///
    /// # Errors
    /// There is no row, or no room for it; nothing is left then.
    pub async fn copy_of(core: &CoreContext, store: &dyn BlobStore, file: &Path) -> Result<Held, Error> {
        let length = tokio::fs::metadata(file).await.map_err(BlobError::from)?.len();
        Self::begin_announced(core, store, Some(length)).await?.copy(core, store, file).await
    }

    /// Writes a file of this machine, and finishes.
    ///
    /// # Errors
    /// The file cannot be read, or those of the store; nothing is left then.
    pub async fn copy(mut self, core: &CoreContext, store: &dyn BlobStore, file: &Path) -> Result<Held, Error> {
        match self.append(file).await {
            Ok(()) => self.finish(core, store).await,
            Err(error) => {
                self.abort(core, store).await;
                Err(error)
            }
        }
    }

    /// The file.
    pub fn id(&self) -> FileId {
        self.held.id
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

    /// Adds bytes at the end; nothing more can be added after an error.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn write(&mut self, part: Bytes) -> Result<(), Error> {
        Ok(self.writing.write(part).await?)
    }

    /// The file is whole and in its place; it is to be given to something as long as this lives.
    ///
    /// # Errors
    /// Those of the store; nothing is left then.
    pub async fn finish(self, core: &CoreContext, store: &dyn BlobStore) -> Result<Held, Error> {
        let Self { held, writing } = self;
        match writing.finish().await {
            Ok(()) => Ok(held),
            Err(error) => {
                discard(core, store, held).await;
                Err(error.into())
            }
        }
    }

    /// Takes back what was written.
    pub async fn abort(self, core: &CoreContext, store: &dyn BlobStore) {
        self.writing.abort().await;
        discard(core, store, self.held).await;
    }
}

/// Ends the writing. A file that was given to nothing is removed at once; where that fails, by the clean-up.
pub async fn discard(core: &CoreContext, store: &dyn BlobStore, held: Held) {
    let (id, path) = (held.id, held.path.clone());
    drop(held);
    if let Err(error) = remove(core, store, id, &path).await {
        warn!(cause = error.chain(), "could not remove a file that came to nothing; the clean-up will");
    }
}

/// Removes what belongs to nothing.
///
/// # Errors
/// The database. A file that the store does not let go is put off, and the others go on.
pub async fn sweep(core: &CoreContext) -> Result<(), Error> {
    let loose = Entity::unused(core.clock.now()).limit(AT_ONCE).all(core.db.read()).await?;
    for file in loose {
        if let Err(error) = remove(ctx, &*ctx.uploads.store, file.id, &file.path).await {
            warn!(cause = error.chain(), file.id = %file.id, "could not remove a file that belongs to nothing");
            put_off(ctx, file.id).await?;
        }
    }
    Ok(())
}

async fn put_off(core: &CoreContext, id: FileId) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::HeldUntil, Expr::value(core.clock.now() + PUT_OFF))
        .filter(Column::Id.eq(id))
        .filter(Entity::is_unowned())
        .exec(core.db.write())
        .await?;
    Ok(())
}

async fn remove(core: &CoreContext, store: &dyn BlobStore, id: FileId, path: &str) -> Result<(), Error> {
    // From here on it can be given to nothing: the bytes may go.
    let doomed = Entity::update_many()
        .col_expr(Column::Doomed, Expr::value(true))
        .filter(Column::Id.eq(id))
        .filter(Entity::is_unowned())
        .exec(core.db.write())
        .await?;
    if doomed.rows_affected == 0 {
        return Ok(());
    }
    store.remove(path).await?;
    Entity::delete_by_id(id).exec(core.db.write()).await?;
    Ok(())
}
