//! Deleting a bookmark, and bringing it back: gone from every list and search at once, and for good after 30 days.

use entity::id::{BookmarkId, UserId};
use entity::kind::DocumentStatus;
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, document};
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, SqlErr};
use serde::Serialize;

use super::save;
use super::view::{self, BookmarkResponse};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use library::feeds::saved;
use jobs::{Priority, JobKind};
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Which is deleted.
#[derive(Debug)]
pub struct DeleteBookmark(pub BookmarkId);

impl DeleteBookmark {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The deleted bookmark, and until when it can be restored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteBookmarkResponse {
    bookmark_id: BookmarkId,
    deleted: bool,
    restorable_until: Timestamp,
}

impl Operation for DeleteBookmark {
    type Reply = DeleteBookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteBookmarkResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        delete(&txn, caller.user, self.0, Priority::Now, now).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(DeleteBookmarkResponse {
            bookmark_id: self.0,
            deleted: true,
            restorable_until: now + bookmark::RESTORE_PERIOD,
        })
    }
}

/// Deletes a bookmark, within a transaction.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn delete(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: BookmarkId,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let row = bookmark::Entity::one_of(user, id).one(txn).await?.ok_or(Error::not_found())?;
    mark(txn, &row, Some(now), now).await?;
    set_hidden(txn, &row, Some(now), priority, now).await
}

const SAVED_AGAIN: Error = Error::Conflict("the same URL was saved again; delete that bookmark first");

/// Which comes back.
#[derive(Debug)]
pub struct RestoreBookmark(BookmarkId);

impl RestoreBookmark {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for RestoreBookmark {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BookmarkResponse, Error> {
        let (user, now) = (caller.user, ctx.core.clock.now());
        let txn = begin_request(&ctx.core.db, caller).await?;
        let found = bookmark::Entity::with_deleted(user).filter(bookmark::Column::Id.eq(self.0));
        let found = found.lock_exclusive().one(&txn).await?;
        let row = found.ok_or(Error::not_found())?;
        let Some(deleted) = row.deleted_at else {
            return Ok(BookmarkResponse { bookmark: view::one(ctx, &txn, row).await? });
        };
        if now.since(deleted) >= bookmark::RESTORE_PERIOD {
            return Err(Error::not_found());
        }
        if save::with_address(&txn, user, &row.normalized_url).await?.is_some() {
            return Err(SAVED_AGAIN);
        }
        mark(&txn, &row, None, now).await.map_err(|error| match error.sql_err() {
            // Saved at this very moment.
            Some(SqlErr::UniqueConstraintViolation(_)) => SAVED_AGAIN,
            Some(_) | None => error.into(),
        })?;
        if let Some(document) = document::Entity::one_of(user, row.document_id).one(&txn).await? {
            // It stayed in sight as the text of an entry.
            saved::attach(&txn, &document, Some(row.id), now).await?;
        }
        set_hidden(&txn, &row, None, Priority::Now, now).await?;
        let row = bookmark::Model { deleted_at: None, updated_at: now, ..row };
        let bookmark = view::one(ctx, &txn, row).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(BookmarkResponse { bookmark })
    }
}

async fn mark(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    deleted: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), DbErr> {
    bookmark::Entity::update_many()
        .col_expr(bookmark::Column::DeletedAt, Expr::value(deleted))
        .col_expr(bookmark::Column::UpdatedAt, Expr::value(now))
        .filter(bookmark::Column::UserId.eq(row.user_id))
        .filter(bookmark::Column::Id.eq(row.id))
        .exec(txn)
        .await
        .map(drop)
}

/// Takes the bookmark's documents, its notes too, out of sight or back, and tells the index.
async fn set_hidden(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    hidden: Option<Timestamp>,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let (user, of_bookmark) = (row.user_id, document::Column::BookmarkId.eq(row.id));
    for document in document::Entity::of(user).filter(of_bookmark.clone()).all(txn).await? {
        if hidden.is_some() && document.entry_id.is_some() {
            saved::attach(txn, &document, None, now).await?;
            continue;
        }
        let work = match hidden {
            Some(_) => JobKind::RemoveFromIndex,
            None if document.version > 0 => JobKind::Index,
            None => JobKind::of_bookmark(row.kind),
        };
        jobs::enqueue(txn, user, work, document.id.0, priority, now).await?;
    }
    let mut seen = document::Entity::update_many().col_expr(document::Column::HiddenAt, Expr::value(hidden));
    if hidden.is_none() {
        // It is ready again once it is found again.
        seen = seen.col_expr(document::Column::Status, Expr::value(DocumentStatus::Processing));
    }
    seen.filter(document::Column::UserId.eq(user)).filter(of_bookmark).exec(txn).await?;
    Ok(())
}
