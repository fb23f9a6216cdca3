//! An upload: from its announcement to the document that is created from it.

use sea_orm::Condition;
use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, DocumentId, UploadId, UserId};
use values::time::Timestamp;

/// An upload: from its announcement to the document that is created from it.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "upload")]
pub struct Model {
    /// Id of the upload, which is part of its signed URL.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: UploadId,
    /// The user who owns it.
    pub user_id: UserId,
    /// File name given by the user; never part of a path.
    #[sea_orm(column_type = "Text")]
    pub filename: String,
    /// Media type that the client announced.
    #[sea_orm(column_type = "Text")]
    pub content_type: String,
    /// The announced length in bytes.
    pub bytes: i64,
    /// Time at which the client announced it.
    pub created_at: Timestamp,
    /// Expiry time of the upload URL.
    pub expires_at: Timestamp,
    /// Time until which its bytes are at least being received; extended by the heartbeat of the process that receives them.
    pub receiving_until: Timestamp,
    /// Time at which its bytes were completely received; `None` if the client sends them directly to the blob store.
    pub arrived_at: Option<Timestamp>,
    /// SHA-256 of its bytes in hexadecimal digits, if known.
    pub sha256: Option<String>,
    /// Time at which its document and bookmark were created.
    pub completed_at: Option<Timestamp>,
    /// The document that was created from it; `None` before it is completed.
    pub document_id: Option<DocumentId>,
    /// The bookmark that was created for it; `None` before it is completed.
    pub bookmark_id: Option<BookmarkId>,
}

crate::owned::owned_table!(UploadId);

impl Model {
    /// Returns whether bytes may still be sent, or are being received.
    pub fn accepts_bytes(&self, now: Timestamp) -> bool {
        now < self.expires_at || now < self.receiving_until
    }
}

impl Entity {
    /// Returns the upload with this id, whatever its owner: for the holder of its signed URL.
    pub fn by_signed_url(id: UploadId) -> Select<Entity> {
        Self::find_by_id(id)
    }

    /// Returns the abandoned uploads of all users, for the clean-up.
    pub fn abandoned(ended_before: Timestamp) -> Select<Entity> {
        Self::find().filter(Self::is_abandoned(ended_before))
    }

    /// Returns the condition that an upload was not completed and its URL expired before `ended_before`.
    pub fn is_abandoned(ended_before: Timestamp) -> Condition {
        Condition::all().add(Column::CompletedAt.is_null()).add(Column::ExpiresAt.lt(ended_before))
    }
}
