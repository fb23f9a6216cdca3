//! The pages of entries that a feed contains only as summaries.

use entity::{document, entry, feed};
use errors::Error;
use jobs::{JobKind, Priority};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use values::id::DocumentId;
use values::time::Timestamp;

/// Existing entries whose pages are fetched when a follower asks for full texts: the newest.
const MAX_CATCH_UP_ENTRIES: u64 = 200;

/// Enqueues fetches of the pages of existing entries whose texts are summaries. Entries whose summary is not stored yet are
/// left out: the job that stores it enqueues the fetch.
pub async fn enqueue_missing_pages(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    now: Timestamp,
) -> Result<(), Error> {
    let rows = entry::Entity::owned_by(feed.user_id)
        .filter(entry::Column::FeedId.eq(feed.id))
        .filter(entry::Column::HasFullText.eq(false))
        .order_by_desc(entry::Column::SortedAt)
        .limit(MAX_CATCH_UP_ENTRIES)
        .all(txn)
        .await?;
    // The page of a recording is fetched only for a bookmark, as in `saved::needs_page`.
    let documents = rows.into_iter().filter(|row| !row.is_recording()).map(|row| row.document_id);
    let documents: Vec<DocumentId> = documents.collect();
    if documents.is_empty() {
        return Ok(());
    }
    let with_text = document::Entity::visible_to(feed.user_id)
        .filter(document::Column::Id.is_in(documents))
        .filter(document::Column::BookmarkId.is_null())
        .filter(document::Column::Version.gt(0));
    for document in with_text.all(txn).await? {
        jobs::enqueue(txn, feed.user_id, JobKind::FetchPage, document.id.0, Priority::Backlog, now).await?;
    }
    Ok(())
}
