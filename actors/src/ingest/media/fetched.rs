//! Recordings that were fetched, in the store until they were heard: many hosts put something else between the words each
//! time, so that one which is fetched once more, after its turn or after a crash, would have to be heard from its beginning.

use std::path::Path;
use std::time::Duration;

use entity::id::{DocumentId, FileId};
use entity::stored_file::{Column, Entity};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};
use storage::blobs::{BlobError, LocalFile};

use crate::ingest::context::IngestContext;
use errors::Error;
use library::stored_files::{self, Owner, Written};

/// A file that is unused for this long is removed; its recording is fetched again when it has its turn.
const UNUSED_FILE_RETENTION: Duration = Duration::from_secs(24 * 3600);

/// The file of a document's recording, on this machine, where it is kept.
///
/// # Errors
/// What [`DbErr`] or [`BlobError`] converts to when the database or the store fails.
pub async fn find_file(ctx: &IngestContext, document: DocumentId) -> Result<Option<LocalFile>, Error> {
    let Some(row) = Entity::of_document(document).one(ctx.core.db.read()).await? else { return Ok(None) };
    match ctx.uploads.store.local_file(&row.path).await {
        Ok(file) => {
            touch(ctx.core.db.write(), ctx, row.id).await?;
            Ok(Some(file))
        }
        Err(BlobError::Missing) => {
            release_file(ctx.core.db.write(), document).await?;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Keeps a file for the document.
///
/// # Errors
/// What [`DbErr`] or [`BlobError`] converts to when the database or the store fails.
pub async fn keep_file(ctx: &IngestContext, document: DocumentId, file: &Path) -> Result<(), Error> {
    let store = &*ctx.uploads.store;
    let held = Written::copy_of(ctx, store, file).await?;
    let txn = ctx.core.db.begin().await?;
    release_file(&txn, document).await?;
    let given = stored::give(&txn, held.id, Owner::Document(document)).await?;
    touch(&txn, ctx, held.id).await?;
    if !given {
        return Err(Error::internal("a file was removed while it was written"));
    }
    Ok(txn.commit().await?)
}

/// The recording was heard, or will not be: its file belongs to nothing from now on.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn release_file(db: &impl ConnectionTrait, document: DocumentId) -> Result<(), DbErr> {
    let none = Entity::update_many().col_expr(Column::DocumentId, Expr::value(None::<DocumentId>));
    none.filter(Column::DocumentId.eq(document)).exec(db).await.map(drop)
}

/// The time until which a file is left alone tells of one that belongs to something when it was used last.
async fn touch(db: &impl ConnectionTrait, ctx: &IngestContext, file: FileId) -> Result<(), Error> {
    let now = Entity::update_many().col_expr(Column::HeldUntil, Expr::value(ctx.core.clock.now()));
    Ok(now.filter(Column::Id.eq(file)).exec(db).await.map(drop)?)
}

/// Releases files that are unused for `UNUSED_FILE_RETENTION`: nothing transcribes them here.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn sweep(ctx: &IngestContext) -> Result<(), DbErr> {
    let none = Entity::update_many().col_expr(Column::DocumentId, Expr::value(None::<DocumentId>));
    let unused = none.filter(Column::DocumentId.is_not_null());
    let unused = unused.filter(Column::HeldUntil.lt(ctx.core.clock.now() - UNUSED_FILE_RETENTION));
    unused.exec(ctx.core.db.write()).await.map(drop)
}
