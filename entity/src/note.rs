//! A person's note: on a bookmark (one note there) or of a project. Its text is a document too, so that it is found.

use crate::id::{BookmarkId, DocumentId, NoteId, ProjectId, UserId};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A person's note: on a bookmark (one note there) or of a project. Its text is a document too, so that it is found.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "note")]
pub struct Model {
    /// The note.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: NoteId,
    /// Whose it is.
    pub user_id: UserId,
    /// The document with its text.
    pub document_id: DocumentId,
    /// The bookmark that it is on; unique.
    pub bookmark_id: Option<BookmarkId>,
    /// The project that it belongs to.
    pub project_id: Option<ProjectId>,
    /// Its title.
    pub title: String,
    /// Its text, as Markdown.
    #[sea_orm(column_type = "Text")]
    pub body: String,
    /// Shown first, and to assistants.
    pub pinned: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!(NoteId);
