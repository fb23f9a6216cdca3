//! Where entries and bookmarks meet: an entry that is saved keeps its one document, whatever becomes of either.

use std::collections::HashMap;

use entity::id::{BookmarkId, FeedId, UserId};
use entity::time::Timestamp;
use entity::{bookmark, document, entry, feed};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};

use errors::Error;
use jobs::{Priority, JobKind};

/// Entries of one address that are looked at.
const LOOKED_AT: u64 = 100;

/// The entry of this normalised address whose document is still nobody's bookmark. A page that several entries of a feed
/// name is the page of none of them.
pub async fn entry_at(
    txn: &impl ConnectionTrait,
    user: UserId,
    normalized: &str,
) -> Result<Option<(entry::Model, document::Model)>, Error> {
    let rows = entry::Entity::owned_by(user)
        .filter(entry::Column::NormalizedUrl.eq(normalized))
        .order_by_asc(entry::Column::Id)
        .limit(LOOKED_AT)
        .all(txn)
        .await?;
    let mut in_feed: HashMap<FeedId, usize> = HashMap::new();
    for row in &rows {
        *in_feed.entry(row.feed_id).or_default() += 1;
    }
    for row in rows.into_iter().filter(|row| in_feed.get(&row.feed_id) == Some(&1)) {
        let document = document::Entity::one_of(user, row.document_id)
            .filter(document::Column::BookmarkId.is_null())
            .one(txn)
            .await?;
        if let Some(document) = document {
            return Ok(Some((row, document)));
        }
    }
    Ok(None)
}

/// Makes an entry's document the bookmark's too, or the entry's alone again.
pub async fn attach(
    txn: &impl ConnectionTrait,
    document: &document::Model,
    bookmark: Option<BookmarkId>,
    now: Timestamp,
) -> Result<(), Error> {
    document::Entity::update_many()
        .col_expr(document::Column::BookmarkId, Expr::value(bookmark))
        .filter(document::Column::UserId.eq(document.user_id))
        .filter(document::Column::Id.eq(document.id))
        .exec(txn)
        .await?;
    jobs::enqueue(txn, document.user_id, JobKind::UpdateLabels, document.id.0, Priority::Now, now).await?;
    Ok(())
}

/// Reads the entry and its document again; returns the given ones if they were deleted.
pub async fn reread(
    txn: &impl ConnectionTrait,
    entry: &entry::Model,
    document: document::Model,
) -> Result<(entry::Model, document::Model), Error> {
    let user = document.user_id;
    let fresh_entry = entry::Entity::one_of(user, entry.id).one(txn).await?;
    let fresh_document = document::Entity::one_of(user, document.id).one(txn).await?;
    Ok((fresh_entry.unwrap_or_else(|| entry.clone()), fresh_document.unwrap_or(document)))
}

/// Whether the page of an entry is to be fetched although the feed gave something: that is a summary, and the person
/// wants the pages of this feed, or saved this one. A recording is fetched for who saved it alone.
pub async fn wants_page(txn: &impl ConnectionTrait, document: &document::Model) -> Result<bool, Error> {
    let Some(id) = document.entry_id else { return Ok(false) };
    let Some(row) = entry::Entity::one_of(document.user_id, id).one(txn).await? else { return Ok(false) };
    if row.whole || document.bookmark_id.is_some() {
        return Ok(!row.whole);
    }
    if row.is_recording() {
        return Ok(false);
    }
    let feed = feed::Entity::one_of(document.user_id, row.feed_id).one(txn).await?;
    Ok(feed.is_some_and(|feed| feed.full_text))
}

/// Takes a left feed's mark off the documents that are bookmarked: those stay. What belongs to a deleted bookmark goes out
/// of sight with it, until that is restored or gone for good.
pub async fn keep_bookmarked(
    txn: &impl ConnectionTrait,
    user: UserId,
    feed: FeedId,
    now: Timestamp,
) -> Result<(), Error> {
    let of_feed = document::Entity::of(user).filter(document::Column::FeedId.eq(feed));
    let of_feed = of_feed.select_only().column(document::Column::Id);
    let rows = bookmark::Entity::with_deleted(user)
        .filter(bookmark::Column::DocumentId.in_subquery(sea_orm::QueryTrait::into_query(of_feed)))
        .order_by_desc(bookmark::Column::Id)
        .all(txn)
        .await?;
    // The living one of a document comes first; the newest of the deleted ones otherwise.
    let mut kept: HashMap<_, bookmark::Model> = HashMap::new();
    for row in rows {
        let there = kept.entry(row.document_id).or_insert_with(|| row.clone());
        if row.deleted_at.is_none() {
            *there = row;
        }
    }
    for (document, row) in kept {
        document::Entity::update_many()
            .col_expr(document::Column::BookmarkId, Expr::value(Some(row.id)))
            .col_expr(document::Column::EntryId, Expr::value(None::<uuid::Uuid>))
            .col_expr(document::Column::FeedId, Expr::value(None::<uuid::Uuid>))
            .col_expr(document::Column::HiddenAt, Expr::value(row.deleted_at))
            .filter(document::Column::UserId.eq(user))
            .filter(document::Column::Id.eq(document))
            .exec(txn)
            .await?;
        let work = if row.deleted_at.is_some() { JobKind::RemoveFromIndex } else { JobKind::UpdateLabels };
        jobs::enqueue(txn, user, work, document.0, Priority::Now, now).await?;
    }
    Ok(())
}
