//! Entries that are bookmarked. An entry and its bookmark share one document, which stays when either of them is removed.

use database::padded;
use std::collections::HashMap;

use entity::{bookmark, document, entry, feed};
use errors::Error;
use jobs::{JobKind, Priority};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect, QueryTrait};
use uuid::Uuid;
use values::id::{BookmarkId, DocumentId, FeedId, UserId};
use values::time::Timestamp;

use crate::documents::unindexed_since;

/// Entries of one URL that are considered. One feed may give the same URL to each of its entries.
const MAX_ENTRIES_PER_URL: u64 = 100;

/// Returns the entry with this normalised URL whose document is not bookmarked. A URL that several entries of one feed name
/// does not identify any of them.
pub async fn find_unsaved_entry(
    txn: &impl ConnectionTrait,
    user: UserId,
    normalized: &str,
) -> Result<Option<(entry::Model, document::Model)>, Error> {
    let rows = entry::Entity::owned_by(user)
        .filter(entry::Column::NormalizedUrl.eq(normalized))
        .order_by_asc(entry::Column::Id)
        .limit(MAX_ENTRIES_PER_URL)
        .all(txn)
        .await?;
    let mut entries_by_feed: HashMap<FeedId, usize> = HashMap::new();
    for row in &rows {
        *entries_by_feed.entry(row.feed_id).or_default() += 1;
    }
    for row in rows.into_iter().filter(|row| entries_by_feed.get(&row.feed_id) == Some(&1)) {
        let document = document::Entity::one_visible_to(user, row.document_id)
            .filter(document::Column::BookmarkId.is_null())
            .one(txn)
            .await?;
        if let Some(document) = document {
            return Ok(Some((row, document)));
        }
    }
    Ok(None)
}

/// Sets the bookmark that shares an entry's document.
pub async fn set_bookmark(
    txn: &impl ConnectionTrait,
    document: &document::Model,
    bookmark: BookmarkId,
    now: Timestamp,
) -> Result<(), Error> {
    document::Entity::update_owned(document.user_id)
        .col_expr(document::Column::BookmarkId, Expr::value(Some(bookmark)))
        .col_expr(document::Column::UnindexedSince, unindexed_since(now))
        .filter(document::Column::Id.eq(document.id))
        .exec(txn)
        .await?;
    Ok(())
}

/// Leaves documents that bookmarks share with entries to the entries alone. No document may occur twice. The caller names at most
/// [`BATCH_ROWS`](crate::BATCH_ROWS).
pub async fn clear_bookmarks(
    txn: &impl ConnectionTrait,
    user: UserId,
    documents: &[DocumentId],
    now: Timestamp,
) -> Result<(), Error> {
    if documents.is_empty() {
        return Ok(());
    }
    document::Entity::update_owned(user)
        .col_expr(document::Column::BookmarkId, Expr::value(None::<Uuid>))
        .col_expr(document::Column::UnindexedSince, unindexed_since(now))
        .filter(document::Column::Id.is_in(padded(documents)))
        .exec(txn)
        .await?;
    Ok(())
}

/// Reads an entry and its document again. Returns the given rows for those that were deleted meanwhile.
pub async fn reload_entry(
    txn: &impl ConnectionTrait,
    entry: &entry::Model,
    document: document::Model,
) -> Result<(entry::Model, document::Model), Error> {
    let user = document.user_id;
    let fresh_entry = entry::Entity::one_of(user, entry.id).one(txn).await?;
    let fresh_document = document::Entity::one_visible_to(user, document.id).one(txn).await?;
    Ok((fresh_entry.unwrap_or_else(|| entry.clone()), fresh_document.unwrap_or(document)))
}

/// Returns whether the page of an entry is to be fetched because the feed contains only a summary: the user bookmarked the
/// entry, or wants the pages of this feed. A page that is the entry's recording is fetched only for a bookmark.
pub async fn needs_page(txn: &impl ConnectionTrait, document: &document::Model) -> Result<bool, Error> {
    let Some(id) = document.entry_id else { return Ok(false) };
    let Some(row) = entry::Entity::one_of(document.user_id, id).one(txn).await? else { return Ok(false) };
    if row.has_full_text || document.bookmark_id.is_some() {
        return Ok(!row.has_full_text);
    }
    if row.is_recording() {
        return Ok(false);
    }
    // Asked last, because most entries are decided by their own row.
    let feed = feed::Entity::one_of(document.user_id, row.feed_id).one(txn).await?;
    Ok(feed.is_some_and(|feed| feed.full_text))
}

/// Detaches the bookmarked documents of a feed that is being removed, so that they stay. A document whose bookmarks are all
/// deleted is hidden until one of them is restored.
pub(super) async fn detach_bookmarked(
    txn: &impl ConnectionTrait,
    user: UserId,
    feed: FeedId,
    now: Timestamp,
) -> Result<(), Error> {
    let of_feed = document::Entity::with_hidden(user).filter(document::Column::FeedId.eq(feed));
    let of_feed = of_feed.select_only().column(document::Column::Id);
    let mut rows = bookmark::Entity::with_deleted(user)
        .filter(bookmark::Column::DocumentId.in_subquery(of_feed.into_query()))
        .all(txn)
        .await?;
    // Not sorted by the database: for the order of the ids SQLite would read all bookmarks of the user.
    rows.sort_by_key(|row| std::cmp::Reverse(row.id));
    // For each document the bookmark that is not deleted, else the newest of the deleted ones.
    let mut bookmarks: HashMap<_, bookmark::Model> = HashMap::new();
    for row in rows {
        let best = bookmarks.entry(row.document_id).or_insert_with(|| row.clone());
        if row.deleted_at.is_none() {
            *best = row;
        }
    }
    for (document, row) in bookmarks {
        document::Entity::update_owned(user)
            .col_expr(document::Column::BookmarkId, Expr::value(Some(row.id)))
            .col_expr(document::Column::EntryId, Expr::value(None::<Uuid>))
            .col_expr(document::Column::FeedId, Expr::value(None::<Uuid>))
            .col_expr(document::Column::HiddenAt, Expr::value(row.deleted_at))
            .col_expr(document::Column::UnindexedSince, unindexed_since(now))
            .filter(document::Column::Id.eq(document))
            .exec(txn)
            .await?;
        if row.deleted_at.is_some() {
            jobs::enqueue(txn, user, JobKind::RemoveFromIndex, document.0, Priority::Now, now).await?;
        }
    }
    Ok(())
}
