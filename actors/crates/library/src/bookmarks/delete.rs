//! Deleting a bookmark and restoring it. A deleted bookmark is hidden from every list and from search; it is removed for good
//! after 30 days ([`bookmark::RESTORE_PERIOD`]).

use std::borrow::Cow;

use entity::{bookmark, document};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QuerySelect, SqlErr};
use values::id::{BookmarkId, UserId};
use values::kind::DocumentStatus;
use values::time::Timestamp;

use super::page_url::find_by_url;
use crate::feeds::saved;
use errors::Error;
use jobs::{JobKind, Priority};

const URL_SAVED_AGAIN: Error =
    Error::Conflict(Cow::Borrowed("the same URL was saved again; delete that bookmark first"));

/// Deletes a bookmark, so that it can be restored.
///
/// # Errors
/// [`Error::NotFound`] when the bookmark does not exist, is deleted, or belongs to another user.
pub async fn delete(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: BookmarkId,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let row = bookmark::Entity::one_visible_to(user, id).one(txn).await?.ok_or(Error::not_found())?;
    // The bookmark before its documents, as in jobs: in the other order a deletion and the job of its page deadlock on PostgreSQL.
    set_deleted(txn, &row, Some(now), now).await?;
    set_hidden(txn, &row, Some(now), priority, now).await
}

/// Restores a deleted bookmark and returns it; one that is not deleted is returned unchanged.
///
/// # Errors
/// [`Error::NotFound`] when the bookmark does not exist, belongs to another user, or was deleted too long ago; [`Error::Conflict`]
/// when its URL was saved again.
pub async fn restore(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: BookmarkId,
    now: Timestamp,
) -> Result<bookmark::Model, Error> {
    let found = bookmark::Entity::with_deleted(user).filter(bookmark::Column::Id.eq(id));
    let row = found.lock_exclusive().one(txn).await?.ok_or(Error::not_found())?;
    let Some(deleted) = row.deleted_at else { return Ok(row) };
    // The period ends exactly, whenever the clean-up removes the row.
    if now.since(deleted) >= bookmark::RESTORE_PERIOD {
        return Err(Error::not_found());
    }
    if find_by_url(txn, user, &row.normalized_url).await?.is_some() {
        return Err(URL_SAVED_AGAIN);
    }
    set_deleted(txn, &row, None, now).await.map_err(|error| match error.sql_err() {
        // Another process saved the URL after it was looked up.
        Some(SqlErr::UniqueConstraintViolation(_)) => URL_SAVED_AGAIN,
        Some(_) | None => error.into(),
    })?;
    if let Some(document) = document::Entity::one_visible_to(user, row.document_id).one(txn).await? {
        // The document stayed visible as the text of a feed entry.
        saved::set_bookmark(txn, &document, Some(row.id), now).await?;
    }
    set_hidden(txn, &row, None, Priority::Now, now).await?;
    Ok(bookmark::Model { deleted_at: None, updated_at: now, ..row })
}

async fn set_deleted(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    deleted_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), DbErr> {
    bookmark::Entity::update_owned(row.user_id)
        .col_expr(bookmark::Column::DeletedAt, Expr::value(deleted_at))
        .col_expr(bookmark::Column::UpdatedAt, Expr::value(now))
        .filter(bookmark::Column::Id.eq(row.id))
        .exec(txn)
        .await
        .map(drop)
}

/// Hides the bookmark's documents, its note included, or shows them again, and enqueues the jobs for the index.
async fn set_hidden(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    hidden_at: Option<Timestamp>,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let (user, of_bookmark) = (row.user_id, document::Column::BookmarkId.eq(row.id));
    for document in document::Entity::with_hidden(user).filter(of_bookmark.clone()).all(txn).await? {
        if hidden_at.is_some() && document.entry_id.is_some() {
            // It stays visible as the text of its feed entry. Without its bookmark id the update below skips it.
            saved::set_bookmark(txn, &document, None, now).await?;
            continue;
        }
        let kind = match hidden_at {
            Some(_) => JobKind::RemoveFromIndex,
            None if document.version > 0 => JobKind::Index,
            // It was deleted before it had a text, so there is nothing to index yet: the text is made first.
            None => JobKind::of_bookmark(row.kind),
        };
        jobs::enqueue(txn, user, kind, document.id.0, priority, now).await?;
    }
    let mut update =
        document::Entity::update_owned(user).col_expr(document::Column::HiddenAt, Expr::value(hidden_at));
    if hidden_at.is_none() {
        // It is ready once the index contains it again.
        update = update.col_expr(document::Column::Status, Expr::value(DocumentStatus::Processing));
    }
    update.filter(of_bookmark).exec(txn).await?;
    Ok(())
}
