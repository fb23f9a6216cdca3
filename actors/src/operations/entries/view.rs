//! The view of an entry, loaded for many entries together.

use std::collections::HashMap;

use entity::{document, entry};
use errors::Error;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, EntryId, FeedId, UserId};
use values::time::Timestamp;

/// An entry of a feed (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryView {
    /// Id of the entry.
    pub entry_id: EntryId,
    /// The feed in which it was published.
    pub feed_id: FeedId,
    /// The document with the text; `GET /documents/:id` reads it.
    pub document_id: DocumentId,
    /// The bookmark of the entry; null if it is not bookmarked.
    pub bookmark_id: Option<BookmarkId>,
    /// Title as the feed gives it.
    pub title: String,
    /// URL of the entry's page, as the feed gives it; the URL of the site if the feed gives none.
    pub url: String,
    /// Names of the authors; null if the feed names none.
    pub author: Option<String>,
    /// Short summary in plain text; null if the feed contains none.
    pub summary: Option<String>,
    /// Publication time; null if the feed names none.
    pub published_at: Option<Timestamp>,
    /// Whether the user has read it.
    pub read: bool,
    /// Whether the user has starred it.
    pub starred: bool,
    /// The recording of the entry, such as an episode of a podcast; null if it has none.
    pub enclosure: Option<EnclosureView>,
}

/// A recording that belongs to an entry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EnclosureView {
    /// URL of the recording, as the feed gives it.
    pub url: String,
    /// Media type, such as `audio/mpeg`; null if the feed names none.
    #[serde(rename = "type")]
    media_type: Option<String>,
    /// Length in bytes, as the feed states it; null if it does not.
    bytes: Option<i64>,
}

/// An entry of a feed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntryResponse {
    /// The entry after the request.
    pub entry: EntryView,
}

/// Loads the view of one entry.
pub async fn load_one(db: &impl ConnectionTrait, row: entry::Model) -> Result<EntryView, Error> {
    load_many(db, row.user_id, vec![row]).await?.pop().ok_or(Error::not_found())
}

/// Loads the views of entries of one user, in their order, with one query.
pub async fn load_many(
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<entry::Model>,
) -> Result<Vec<EntryView>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    // An entry and its bookmark share one document (contract.md, section 11: v1), which refers to the bookmark.
    let documents = rows.iter().map(|row| row.document_id);
    let bookmarked = document::Entity::with_hidden(user)
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
