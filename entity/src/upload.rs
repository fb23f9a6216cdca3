//! An announced file of the user's own: from its ticket to the document that it became.

use crate::id::{BookmarkId, DocumentId, UploadId, UserId};
use crate::time::Timestamp;
use sea_orm::Condition;
use sea_orm::entity::prelude::*;

/// An announced file of the user's own: from its ticket to the document that it became.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "upload")]
pub struct Model {
    /// The upload.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: UploadId,
    /// Whose it is.
    pub user_id: UserId,
    /// What the person calls the file; no part of any path.
    #[sea_orm(column_type = "Text")]
    pub filename: String,
    /// The announced media type.
    #[sea_orm(column_type = "Text")]
    pub content_type: String,
    /// The announced length.
    pub bytes: i64,
    /// When it was announced.
    pub created_at: Timestamp,
    /// The address for its bytes works until then.
    pub expires_at: Timestamp,
    /// Bytes come for it, until then at least: whoever takes them in says so again and again.
    pub receiving_until: Timestamp,
    /// When the bytes that it has came whole; none where the client sends them past this service.
    pub arrived_at: Option<Timestamp>,
    /// Their SHA-256 in hexadecimal digits, where it is known.
    pub sha256: Option<String>,
    /// When it became a document and a bookmark; they are there from then on.
    pub completed_at: Option<Timestamp>,
    /// The document.
    pub document_id: Option<DocumentId>,
    /// The bookmark.
    pub bookmark_id: Option<BookmarkId>,
}

crate::owned::owned_table!(UploadId);

impl Model {
    /// Whether bytes may still begin to come, or are coming.
    pub fn awaits(&self, now: Timestamp) -> bool {
        now < self.expires_at || now < self.receiving_until
    }
}

impl Entity {
    /// The upload of this id, whoever's it is: for who holds its signed address.
    pub fn by_address(id: UploadId) -> Select<Entity> {
        Self::find_by_id(id)
    }

    /// The abandoned uploads of every user: for the clean-up.
    pub fn abandoned(ended_before: Timestamp) -> Select<Entity> {
        Self::find().filter(Self::is_abandoned(ended_before))
    }

    /// Whether an upload was not completed, and its address ended before this.
    pub fn is_abandoned(ended_before: Timestamp) -> Condition {
        Condition::all().add(Column::CompletedAt.is_null()).add(Column::ExpiresAt.lt(ended_before))
    }
}
