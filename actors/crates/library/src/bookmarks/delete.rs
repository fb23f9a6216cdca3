//! Deleting a bookmark and restoring it. A deleted bookmark is hidden from every list and from search; it is removed for good
//! after 30 days ([`bookmark::RESTORE_PERIOD`]).

use database::padded;
use std::borrow::Cow;

use entity::{bookmark, document};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QuerySelect, SqlErr};
use values::id::{BookmarkId, DocumentId, EntryId, UserId};
use values::kind::DocumentStatus;
use values::time::Timestamp;

use super::page_url::find_by_url;
use crate::BATCH_ROWS;
use crate::documents::unindexed_since;
use crate::feeds::saved;
use errors::Error;
use jobs::{JobKind, Priority};

#[cfg(test)]
mod tests;

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
    delete_all(txn, user, &[row.id], priority, now).await
}

/// Deletes bookmarks that are not deleted, as [`delete()`], with a few statements for every [`BATCH_ROWS`] of them. The caller's
/// transaction has locked them, so that each exists.
pub async fn delete_all(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    for ids in ids.chunks(BATCH_ROWS) {
        // The bookmark before its documents, as in jobs: in the other order a deletion and the job of its page deadlock on PostgreSQL.
        set_deleted(txn, user, ids, Some(now), now).await?;
        hide_documents(txn, user, ids, priority, now).await?;
    }
    Ok(())
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
    set_deleted(txn, user, &[row.id], None, now).await.map_err(|error| match error.sql_err() {
        // Another process saved the URL after it was looked up.
        Some(SqlErr::UniqueConstraintViolation(_)) => URL_SAVED_AGAIN,
        Some(_) | None => error.into(),
    })?;
    if let Some(document) = document::Entity::one_visible_to(user, row.document_id).one(txn).await? {
        // The document stayed visible as the text of a feed entry.
        saved::set_bookmark(txn, &document, row.id, now).await?;
    }
    show_documents(txn, &row, now).await?;
    Ok(bookmark::Model { deleted_at: None, updated_at: now, ..row })
}

async fn set_deleted(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
    deleted_at: Option<Timestamp>,
    now: Timestamp,
) -> Result<(), DbErr> {
    bookmark::Entity::update_owned(user)
        .col_expr(bookmark::Column::DeletedAt, Expr::value(deleted_at))
        .col_expr(bookmark::Column::UpdatedAt, Expr::value(now))
        .filter(bookmark::Column::Id.is_in(padded(ids)))
        .exec(txn)
        .await
        .map(drop)
}

/// Hides the documents of bookmarks, their notes included, and enqueues the jobs that remove them from the index. A document that is also
/// the text of a feed entry stays visible as that.
async fn hide_documents(
    txn: &impl ConnectionTrait,
    user: UserId,
    bookmarks: &[BookmarkId],
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let of_bookmarks = document::Column::BookmarkId.is_in(padded(bookmarks));
    let found = document::Entity::with_hidden(user)
        .filter(of_bookmarks.clone())
        .select_only()
        .column(document::Column::Id)
        .column(document::Column::EntryId);
    let found: Vec<(DocumentId, Option<EntryId>)> = found.into_tuple().all(txn).await?;
    let (shared, own): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, entry)| entry.is_some());
    let shared: Vec<DocumentId> = shared.into_iter().map(|(id, _)| id).collect();
    // Without their bookmark ids the update below skips them.
    for documents in shared.chunks(BATCH_ROWS) {
        saved::clear_bookmarks(txn, user, documents, now).await?;
    }
    let subjects = own.into_iter().map(|(id, _)| id.0);
    jobs::enqueue_all(txn, user, JobKind::RemoveFromIndex, subjects, priority, now).await?;
    document::Entity::update_owned(user)
        .col_expr(document::Column::HiddenAt, Expr::value(Some(now)))
        .filter(of_bookmarks)
        .exec(txn)
        .await?;
    Ok(())
}

/// Shows the documents of a restored bookmark again, its note included, and enqueues the jobs that put them into the index.
async fn show_documents(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    now: Timestamp,
) -> Result<(), Error> {
    let (user, of_bookmark) = (row.user_id, document::Column::BookmarkId.eq(row.id));
    for document in document::Entity::with_hidden(user).filter(of_bookmark.clone()).all(txn).await? {
        // A document that was deleted before it had a text has nothing to index yet: the text is made first.
        let kind = if document.version > 0 { JobKind::Index } else { JobKind::of_bookmark(row.kind) };
        jobs::enqueue(txn, user, kind, document.id.0, Priority::Now, now).await?;
    }
    document::Entity::update_owned(user)
        .col_expr(document::Column::HiddenAt, Expr::value(None::<Timestamp>))
        .col_expr(document::Column::UnindexedSince, unindexed_since(now))
        // It is ready once the index contains it again.
        .col_expr(document::Column::Status, Expr::value(DocumentStatus::Processing))
        .filter(of_bookmark)
        .exec(txn)
        .await?;
    Ok(())
}
