//! The files of documents that were fetched. A recording stays in the store until it is transcribed: many hosts insert other
//! advertisements on each fetch, so a recording that was fetched again, after it yielded or after a crash, would have to be
//! transcribed from its beginning. A recording or a PDF that a user opens stays for a day after it was last used.

use std::path::Path;
use std::time::Duration;

use entity::stored_file::{Column, Entity};
use errors::Error;
use library::context::CoreContext;
use library::stored_files::{self, FileOwner, FileWriter};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};
use storage::blobs::{BlobError, BlobStore, LocalFile};
use values::id::{DocumentId, FileId};

use crate::ingest::extraction_context::ExtractionContext;

/// A file that is unused for this long is removed; it is fetched again when it is needed.
const UNUSED_FILE_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// The time after which another use of a file is recorded.
const USE_RECORD_PERIOD: Duration = Duration::from_secs(600);

/// Returns the kept file of a document's recording, if there is one, on this machine.
pub async fn find(ctx: &ExtractionContext, document: DocumentId) -> Result<Option<LocalFile>, Error> {
    let Some(path) = find_path(&ctx.core, document).await? else { return Ok(None) };
    match ctx.uploads.store.local_file(&path).await {
        Ok(file) => Ok(Some(file)),
        // The row is of no use without its file. The recording is fetched again.
        Err(BlobError::Missing) => {
            release(ctx.core.db.write(), document).await?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the path in the store of the kept file of a document, if there is one, and records that it is used.
pub async fn find_path(core: &CoreContext, document: DocumentId) -> Result<Option<String>, Error> {
    let Some(row) = Entity::of_document(document).one(core.db.read()).await? else { return Ok(None) };
    // Pages and parts of a file are read many times a minute, and each record is a write.
    if row.keep_until < core.clock.now() - USE_RECORD_PERIOD {
        touch(core.db.write(), core, document, row.id).await?;
    }
    Ok(Some(row.path))
}

/// Keeps a copy of a file for the document, in place of one that is kept already.
pub async fn keep_file(
    core: &CoreContext,
    store: &dyn BlobStore,
    document: DocumentId,
    file: &Path,
) -> Result<(), Error> {
    // The file is stored before the transaction, which then only assigns it: storing gigabytes takes long. A crash in
    // between leaves a file that nothing refers to, which the sweep removes.
    let copy = FileWriter::store_copy(core, store, file).await?;
    let txn = core.db.begin().await?;
    release(&txn, document).await?;
    let is_assigned = stored_files::assign(&txn, copy.id, FileOwner::Document(document)).await?;
    touch(&txn, core, document, copy.id).await?;
    if !is_assigned {
        return Err(Error::internal("a file was removed while it was written"));
    }
    Ok(txn.commit().await?)
}

/// Releases the file of a recording that is transcribed, or never will be, or of a document whose text is replaced. The sweep of stored files removes it.
pub async fn release(db: &impl ConnectionTrait, document: DocumentId) -> Result<(), DbErr> {
    let released = Entity::update_of_document(document);
    released.col_expr(Column::DocumentId, Expr::value(None::<DocumentId>)).exec(db).await.map(drop)
}

/// Records that a file is used. For a file with an owner, `keep_until` is the time of its last use.
async fn touch(
    db: &impl ConnectionTrait,
    core: &CoreContext,
    document: DocumentId,
    file: FileId,
) -> Result<(), Error> {
    let used = Entity::update_of_document(document);
    let used = used.col_expr(Column::KeepUntil, Expr::value(core.clock.now()));
    Ok(used.filter(Column::Id.eq(file)).exec(db).await.map(drop)?)
}

/// Releases files that nothing has used for a day.
pub async fn sweep(core: &CoreContext) -> Result<(), DbErr> {
    let none = Entity::update_many().col_expr(Column::DocumentId, Expr::value(None::<DocumentId>));
    let unused = none.filter(Column::DocumentId.is_not_null());
    let unused = unused.filter(Column::KeepUntil.lt(core.clock.now() - UNUSED_FILE_RETENTION));
    unused.exec(core.db.write()).await.map(drop)
}
