//! An entry of a followed feed. Each follower has a separate row. The text belongs to its document.

use sea_orm::entity::prelude::*;
use values::id::{DocumentId, EntryId, FeedId, UserId};
use values::time::Timestamp;

/// An entry of a followed feed. Each follower has a separate row.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "entry")]
pub struct Model {
    /// Id of the entry for this follower.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: EntryId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The feed in which it was published.
    pub feed_id: FeedId,
    /// The document with its text.
    pub document_id: DocumentId,
    /// SHA-256 of what identifies the entry in the feed; unique within the feed.
    pub key_hash: Vec<u8>,
    /// SHA-256 of the content that the feed gave last, so that updates are detected.
    pub content_hash: Vec<u8>,
    /// URL of its page, as the feed gives it.
    #[sea_orm(column_type = "Text")]
    pub url: String,
    /// The normalised URL, by which entries are compared; empty if the entry has no page.
    #[sea_orm(column_type = "Text")]
    pub normalized_url: String,
    /// Its title in the feed.
    #[sea_orm(column_type = "Text")]
    pub title: String,
    /// Names of the authors, if the feed states them.
    #[sea_orm(column_type = "Text", nullable)]
    pub author: Option<String>,
    /// Short summary in plain text.
    #[sea_orm(column_type = "Text", nullable)]
    pub summary: Option<String>,
    /// Whether the document has the full text without the page: from the feed, a transcript, or content that was sent with a
    /// bookmark. Otherwise the text is only the summary of the feed, until the page is fetched.
    pub has_full_text: bool,
    /// URL of the recording enclosed with it.
    #[sea_orm(column_type = "Text", nullable)]
    pub enclosure_url: Option<String>,
    /// Media type of the recording.
    #[sea_orm(column_type = "Text", nullable)]
    pub enclosure_type: Option<String>,
    /// Length of the recording in bytes.
    pub enclosure_bytes: Option<i64>,
    /// Publication time, if the feed states it.
    pub published_at: Option<Timestamp>,
    /// Sort key: the publication time, but not later than the time at which the entry was received.
    pub sorted_at: Timestamp,
    /// Whether the follower has read it.
    pub read: bool,
    /// Whether the follower has starred it.
    pub starred: bool,
    /// Time at which it was received.
    pub created_at: Timestamp,
}

crate::owned::owned_table!(EntryId);

impl Model {
    /// Returns whether its URL is the URL of its recording, so that there is no page to read.
    pub fn is_recording(&self) -> bool {
        self.enclosure_url.as_deref() == Some(self.url.as_str())
    }
}
