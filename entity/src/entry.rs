//! An entry of a followed feed: each follower's own row. Its text is the document's.

use crate::id::{DocumentId, EntryId, FeedId, UserId};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// An entry of a followed feed: each follower's own row.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "entry")]
pub struct Model {
    /// The entry.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: EntryId,
    /// Whose it is.
    pub user_id: UserId,
    /// The feed that it came in by.
    pub feed_id: FeedId,
    /// The document with its text.
    pub document_id: DocumentId,
    /// SHA-256 of what the feed tells it by; unique within the feed.
    pub key_hash: Vec<u8>,
    /// SHA-256 of what the feed said of it last, so that an update is seen.
    pub content_hash: Vec<u8>,
    /// Its page.
    #[sea_orm(column_type = "Text")]
    pub url: String,
    /// What addresses are compared by; empty where it has no page of its own.
    #[sea_orm(column_type = "Text")]
    pub normalized_url: String,
    /// Its title in the feed.
    #[sea_orm(column_type = "Text")]
    pub title: String,
    /// Who wrote it.
    #[sea_orm(column_type = "Text", nullable)]
    pub author: Option<String>,
    /// A few words of it.
    #[sea_orm(column_type = "Text", nullable)]
    pub summary: Option<String>,
    /// The feed gave all of it, so that its page need not be fetched.
    pub whole: bool,
    /// A recording that came with it.
    #[sea_orm(column_type = "Text", nullable)]
    pub enclosure_url: Option<String>,
    /// The recording's media type.
    #[sea_orm(column_type = "Text", nullable)]
    pub enclosure_type: Option<String>,
    /// The recording's length.
    pub enclosure_bytes: Option<i64>,
    /// When it was published, where the feed says so.
    pub published_at: Option<Timestamp>,
    /// By what entries stand in order: when it was published, but never later than it came.
    pub sorted_at: Timestamp,
    /// The follower has read it.
    pub read: bool,
    /// The follower starred it.
    pub starred: bool,
    /// When it came.
    pub created_at: Timestamp,
}

crate::owned::owned_table!(EntryId);

impl Model {
    /// Whether its address is that of its recording: there is no page to be read.
    pub fn is_recording(&self) -> bool {
        self.enclosure_url.as_deref() == Some(self.url.as_str())
    }
}
