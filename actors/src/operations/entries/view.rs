//! The view of an entry, loaded for many entries together.

use std::collections::HashMap;

use entity::id::{BookmarkId, DocumentId, EntryId, FeedId, UserId};
use entity::time::Timestamp;
use entity::{document, entry};
use errors::Error;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use serde::Serialize;

/// An entry of a feed (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryView {
    entry_id: EntryId,
    feed_id: FeedId,
    document_id: DocumentId,
    bookmark_id: Option<BookmarkId>,
    title: String,
    url: String,
    author: Option<String>,
    summary: Option<String>,
    published_at: Option<Timestamp>,
    read: bool,
    starred: bool,
    enclosure: Option<EnclosureView>,
}

/// A recording that belongs to an entry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EnclosureView {
    url: String,
    #[serde(rename = "type")]
    media_type: Option<String>,
    bytes: Option<i64>,
}

/// An entry of a feed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntryResponse {
    /// The entry.
    pub entry: EntryView,
}

/// Loads the view of one entry.
pub async fn load_one(db: &impl ConnectionTrait, row: entry::Model) -> Result<EntryView, Error> {
    load_many(db, row.user_id, vec![row]).await?.pop().ok_or(Error::not_found())
}

/// Loads the views of entries of one user, in their order.
pub async fn load_many(
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<entry::Model>,
) -> Result<Vec<EntryView>, Error> {
    let documents = rows.iter().map(|row| row.document_id);
    let bookmarked = document::Entity::owned_by(user)
        .filter(document::Column::Id.is_in(documents))
        .filter(document::Column::BookmarkId.is_not_null())
        .select_only()
        .columns([document::Column::Id, document::Column::BookmarkId]);
    let bookmarks: Vec<(DocumentId, BookmarkId)> = bookmarked.into_tuple().all(db).await?;
    let bookmarks: HashMap<DocumentId, BookmarkId> = bookmarks.into_iter().collect();
    let views = rows.into_iter().map(|row| {
        let (media_type, bytes) = (row.enclosure_type, row.enclosure_bytes);
        EntryView {
            entry_id: row.id,
            feed_id: row.feed_id,
            document_id: row.document_id,
            bookmark_id: bookmarks.get(&row.document_id).copied(),
            title: row.title,
            url: row.url,
            author: row.author,
            summary: row.summary,
            published_at: row.published_at,
            read: row.read,
            starred: row.starred,
            enclosure: row.enclosure_url.map(|url| EnclosureView { url, media_type, bytes }),
        }
    });
    Ok(views.collect())
}
