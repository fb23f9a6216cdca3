//! Exports: everything that a person has, in one archive of open formats.
//!
//! | File | What |
//! |---|---|
//! | `carrel.json` | says that this is an export, and of which version |
//! | `library.jsonl` | one thing a line ([`parse::archive`]): collections, feeds, bookmarks, highlights, entries, projects |
//! | `documents/ID.json` | the text of a document, passage by passage, and what it says of itself |
//! | `files/ID` | the files of uploads |
//! | `bookmarks.html` | the saved pages in the folders of their collections, for any browser |
//! | `feeds.opml` | the feeds, for any reader |
//!
//! An export that is imported gives the same library ([`crate::imports`]). It is packed by a job, kept for a week, and
//! goes with its person. It fails when it outgrows what the plan allows for files of imports and exports
//! ([`crate::transfer_quota`]), and the latest one that was packed before it is kept then.

mod beside;
mod bookmarks;
mod gather;
mod job;

use std::time::Duration;

use entity::export::{self, Column, Entity};
use entity::id::{ExportId, UserId};
use entity::job as job_row;
use entity::kind::ExportState;
use entity::stored_file;
use entity::time::Timestamp;
use sea_orm::sea_query::Expr;
use sea_orm::{
    ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
    SqlErr,
};
use storage::blobs::{BlobError, BlobStore, LocalFile};

use crate::context::CoreContext;
use errors::Error;
use jobs::{Priority, JobKind};
use crate::owned_transaction::begin_owned;
use crate::transfer_quota::{self, TransferKind};

pub use job::run;

/// An export is kept for so long.
pub const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// So many are kept of one person beside the one that is packed.
const MOST_PACKED: usize = 2;

/// Begins an export; where one is being packed already, that one. Of those that are packed the latest few are kept.
///
/// # Errors
/// [`Error::TransfersFull`] when nothing is left for its file; what [`DbErr`] converts to when the database fails.
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
    match Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await {
        Ok(_) => {}
        // Somebody else was first.
        Err(error) if matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))) => {
            drop(txn);
            return running.one(core.db.read()).await?.ok_or_else(|| error.into());
        }
        Err(error) => return Err(error.into()),
    }
    forget_earlier(&txn, user).await?;
    transfer_quota::must_have_room(&txn, core, user, TransferKind::Export).await?;
    jobs::enqueue(&txn, user, JobKind::Export, row.id.0, Priority::Now, now).await?;
    txn.commit().await?;
    Ok(row)
}

/// Makes room for one more: its file may be as large as all the others.
async fn forget_earlier(txn: &impl ConnectionTrait, user: UserId) -> Result<(), DbErr> {
    let packed = Entity::owned_by(user).filter(Column::State.eq(ExportState::Done)).order_by_desc(Column::Id);
    let packed: Vec<ExportId> = packed.select_only().column(Column::Id).into_tuple().all(txn).await?;
    let own = Entity::delete_many().filter(Column::UserId.eq(user));
    own.filter(Column::Id.is_in(packed.into_iter().skip(MOST_PACKED))).exec(txn).await.map(drop)
}

/// An export of this person, as far as it is.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn find(core: &CoreContext, user: UserId, id: ExportId) -> Result<export::Model, Error> {
    Entity::one_of(user, id).one(core.db.read()).await?.ok_or(Error::not_found())
}

/// The file of an export, on this machine.
///
/// # Errors
/// [`Error::NotFound`] where it is not packed, or was kept long enough.
pub async fn file(core: &CoreContext, store: &dyn BlobStore, export: &export::Model) -> Result<LocalFile, Error> {
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

/// Records how much of an export is packed.
async fn record_packed_bytes(core: &CoreContext, export: &export::Model, bytes: Option<i64>) -> Result<(), Error> {
    let recorded = Entity::update_many()
        .col_expr(Column::Bytes, Expr::value(bytes))
        .filter(Column::UserId.eq(export.user_id))
        .filter(Column::Id.eq(export.id))
        .filter(Column::State.eq(ExportState::Running));
    Ok(recorded.exec(core.db.write()).await.map(drop)?)
}

/// Says of an export why it is not packed yet.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn waits(db: &impl ConnectionTrait, job: &job_row::Model, reason: &str) -> Result<(), DbErr> {
    Entity::update_many()
        .col_expr(Column::Error, Expr::value(reason))
        .filter(Column::UserId.eq(job.user_id))
        .filter(Column::Id.eq(ExportId(job.subject)))
        .filter(Column::State.eq(ExportState::Running))
        .exec(db)
        .await
        .map(drop)
}

/// Says of an export that its job was given up, in the transaction that gives it up.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn failed(
    db: &impl ConnectionTrait,
    job: &job_row::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    Entity::update_many()
        .col_expr(Column::State, Expr::value(ExportState::Failed))
        .col_expr(Column::Error, Expr::value(reason))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(Column::UserId.eq(job.user_id))
        .filter(Column::Id.eq(ExportId(job.subject)))
        .filter(Column::State.eq(ExportState::Running))
        .exec(db)
        .await
        .map(drop)
}

/// Forgets exports that were kept long enough; their files go with the clean-up of the store.
///
/// # Errors
/// What [`DbErr`] converts to when the database fails.
pub async fn sweep(core: &CoreContext) -> Result<(), Error> {
    let old = Column::CreatedAt.lt(core.clock.now() - KEPT);
    Entity::delete_many().filter(old).exec(core.db.write()).await?;
    Ok(())
}
