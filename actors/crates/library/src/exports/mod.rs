//! Exports: everything that a user has, in one archive of open formats.
//!
//! | File | Content |
//! |---|---|
//! | `carrel.json` | says that the archive is an export, and its version |
//! | `library.jsonl` | one record a line ([`parse::archive`]): collections, feeds, bookmarks, highlights, entries, projects |
//! | `documents/ID.json` | the text of a document, passage by passage, and its metadata |
//! | `files/ID` | uploaded files |
//! | `bookmarks.html` | the saved pages in the folders of their collections, for any browser |
//! | `feeds.opml` | the feeds, for any feed reader |
//!
//! Importing an export restores the same library ([`crate::imports`]). A job packs the export. It is kept for a week, and deleted with
//! its user. It fails when it exceeds the plan's limit for files of imports and exports ([`crate::transfer_quota`]); the latest
//! export before it is kept then.

mod archive;
mod bookmark_list;
mod content;
mod context;
mod job;
mod relations;

use std::time::Duration;

use entity::export::{self, Column, Entity};
use entity::stored_file;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
    SqlErr,
};
use storage::blobs::{BlobError, BlobStore, LocalFile};
use values::id::{ExportId, UserId};
use values::kind::ExportState;
use values::time::Timestamp;

use crate::context::CoreContext;
use crate::owned_transaction::begin_owned;
use crate::transfer_quota::{self, TransferKind};
use errors::Error;
use jobs::{JobKind, Priority};

pub use context::ExportContext;
pub use job::run;

/// Time for which an export is kept.
const EXPORT_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);
/// Packed exports of one user that are kept, besides the one that is being packed.
const MAX_PACKED_EXPORTS: usize = 2;

/// Begins an export, or returns the one that is already being packed. Of the packed exports only the latest are kept.
///
/// # Errors
/// [`Error::TransfersFull`] when there is no room for its file.
pub async fn begin(core: &CoreContext, user: UserId) -> Result<export::Model, Error> {
    let now = core.clock.now();
    let running = Entity::owned_by(user).filter(Column::State.eq(ExportState::Running));
    if let Some(running) = running.clone().one(core.db.read()).await? {
        return Ok(running);
    }
    let row = export::Model {
        id: ExportId::new(now),
        user_id: user,
        state: ExportState::Running,
        bytes: None,
        error: None,
        created_at: now,
        finished_at: None,
    };
    let txn = begin_owned(&core.db, user).await?;
    // The unique index `export_running` decides between concurrent requests, on both databases.
    match Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await {
        Ok(_) => {}
        // A concurrent request has begun one.
        Err(error) if matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))) => {
            // PostgreSQL answers nothing more in a transaction in which a statement failed.
            drop(txn);
            return running.one(core.db.read()).await?.ok_or_else(|| error.into());
        }
        Err(error) => return Err(error.into()),
    }
    // Before the check of the quota, which does not count the files of deleted exports.
    delete_earlier(&txn, user).await?;
    transfer_quota::must_have_room(&txn, core, user, TransferKind::Export).await?;
    jobs::enqueue(&txn, user, JobKind::Export, row.id.0, Priority::Now, now).await?;
    txn.commit().await?;
    Ok(row)
}

/// Deletes the oldest exports: the file of the new one may be as large as all of theirs.
async fn delete_earlier(txn: &impl ConnectionTrait, user: UserId) -> Result<(), DbErr> {
    let packed = Entity::owned_by(user).filter(Column::State.eq(ExportState::Done)).order_by_desc(Column::Id);
    let packed: Vec<ExportId> = packed.select_only().column(Column::Id).into_tuple().all(txn).await?;
    let oldest: Vec<ExportId> = packed.into_iter().skip(MAX_PACKED_EXPORTS).collect();
    if oldest.is_empty() {
        return Ok(());
    }
    Entity::delete_owned(user).filter(Column::Id.is_in(oldest)).exec(txn).await.map(drop)
}

/// Exports that a list shows at most. Failed ones are kept for a week too.
const MAX_LISTED_EXPORTS: u64 = 20;

/// Returns the latest exports of this user, newest first, at most 20.
pub async fn list_latest(core: &CoreContext, user: UserId) -> Result<Vec<export::Model>, Error> {
    let latest = Entity::owned_by(user).order_by_desc(Column::Id).limit(MAX_LISTED_EXPORTS);
    Ok(latest.all(core.db.read()).await?)
}

/// Finds an export of this user.
///
/// # Errors
/// [`Error::NotFound`] when it does not exist or belongs to another user.
pub async fn find(core: &CoreContext, user: UserId, id: ExportId) -> Result<export::Model, Error> {
    Entity::one_of(user, id).one(core.db.read()).await?.ok_or(Error::not_found())
}

/// Returns the file of an export as a local file.
///
/// # Errors
/// [`Error::NotFound`] when the export is not packed or its file was deleted; those of the database and of the store.
pub async fn open_file(
    core: &CoreContext,
    store: &dyn BlobStore,
    export: &export::Model,
) -> Result<LocalFile, Error> {
    if export.state != ExportState::Done {
        return Err(Error::not_found());
    }
    let stored =
        stored_file::Entity::of_export(export.id).one(core.db.read()).await?.ok_or(Error::not_found())?;
    match store.local_file(&stored.path).await {
        Ok(local) => Ok(local),
        Err(BlobError::Missing) => Err(Error::not_found()),
        Err(error) => Err(error.into()),
    }
}

/// Records why an export has not been packed yet.
pub async fn record_wait(
    db: &impl ConnectionTrait,
    job: &entity::job::Model,
    reason: &str,
) -> Result<(), DbErr> {
    Entity::update_owned(job.user_id)
        .col_expr(Column::Error, Expr::value(reason))
        .filter(Column::Id.eq(ExportId(job.subject)))
        .filter(Column::State.eq(ExportState::Running))
        .exec(db)
        .await
        .map(drop)
}

/// Records that an export failed, in the transaction that gives up its job.
pub async fn record_failure(
    db: &impl ConnectionTrait,
    job: &entity::job::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    Entity::update_owned(job.user_id)
        .col_expr(Column::State, Expr::value(ExportState::Failed))
        .col_expr(Column::Error, Expr::value(reason))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(Column::Id.eq(ExportId(job.subject)))
        .filter(Column::State.eq(ExportState::Running))
        .exec(db)
        .await
        .map(drop)
}

/// Deletes exports that are old enough. The clean-up of the store deletes their files.
pub async fn sweep(core: &CoreContext) -> Result<(), Error> {
    let old = Column::CreatedAt.lt(core.clock.now() - EXPORT_RETENTION);
    Entity::delete_many().filter(old).exec(core.db.write()).await?;
    Ok(())
}
