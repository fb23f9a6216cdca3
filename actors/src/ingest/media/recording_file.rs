//! The files of fetched recordings, which stay in the store until they are transcribed. Many hosts insert other
//! advertisements on each fetch, so a recording that was fetched again, after it yielded or after a crash, would have to be
//! transcribed from its beginning.

use std::path::Path;
use std::time::Duration;

use entity::stored_file::{Column, Entity};
use errors::Error;
use library::context::CoreContext;
use library::stored_files::{self, FileOwner, FileWriter};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};
use storage::blobs::{BlobError, LocalFile};
use values::id::{DocumentId, FileId};

use crate::ingest::extraction_context::ExtractionContext;

/// A file that is unused for this long is removed; its recording is fetched again when it is transcribed.
const UNUSED_FILE_RETENTION: Duration = Duration::from_secs(24 * 3600);

/// Returns the kept file of a document's recording, if there is one, on this machine.
pub async fn find(ctx: &ExtractionContext, document: DocumentId) -> Result<Option<LocalFile>, Error> {
    let Some(row) = Entity::of_document(document).one(ctx.core.db.read()).await? else { return Ok(None) };
    match ctx.uploads.store.local_file(&row.path).await {
        Ok(file) => {
            touch(ctx.core.db.write(), &ctx.core, document, row.id).await?;
            Ok(Some(file))
        }
        // The row is of no use without its file. The recording is fetched again.
        Err(BlobError::Missing) => {
            release(ctx.core.db.write(), document).await?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Keeps a copy of a file for the document, in place of one that is kept already.
pub async fn keep_recording(ctx: &ExtractionContext, document: DocumentId, file: &Path) -> Result<(), Error> {
    // The file is stored before the transaction, which then only assigns it: storing gigabytes takes long. A crash in
    // between leaves a file that nothing refers to, which the sweep removes.
    let copy = FileWriter::store_copy(&ctx.core, &*ctx.uploads.store, file).await?;
    let txn = ctx.core.db.begin().await?;
    release(&txn, document).await?;
    let is_assigned = stored_files::assign(&txn, copy.id, FileOwner::Document(document)).await?;
    touch(&txn, &ctx.core, document, copy.id).await?;
    if !is_assigned {
        return Err(Error::internal("a file was removed while it was written"));
    }
    Ok(txn.commit().await?)
}

/// Releases the file of a recording that is transcribed, or never will be. The sweep of stored files removes it.
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

/// Releases files that nothing has used for a day: this server does not transcribe them.
pub async fn sweep(core: &CoreContext) -> Result<(), DbErr> {
    let none = Entity::update_many().col_expr(Column::DocumentId, Expr::value(None::<DocumentId>));
    let unused = none.filter(Column::DocumentId.is_not_null());
    let unused = unused.filter(Column::KeepUntil.lt(core.clock.now() - UNUSED_FILE_RETENTION));
    unused.exec(core.db.write()).await.map(drop)
}
