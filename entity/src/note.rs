//! A note, on a bookmark (at most one) or of a project. Its text is also a document, so that search finds it.

use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, DocumentId, NoteId, ProjectId, UserId};
use values::time::Timestamp;

/// A note, on a bookmark (at most one) or of a project. Its text is also a document, so that search finds it.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "note")]
pub struct Model {
    /// Id of the note; its document has a separate id.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: NoteId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The document with its text.
    pub document_id: DocumentId,
    /// The bookmark on which it was written; unique.
    pub bookmark_id: Option<BookmarkId>,
    /// The project to which it belongs.
    pub project_id: Option<ProjectId>,
    /// Title of a note of a project, which is also the title of its document; empty for the note on a bookmark.
    pub title: String,
    /// Text as Markdown, from which the document text is made.
    #[sea_orm(column_type = "Text")]
    pub body: String,
    /// Whether it is listed first and included in the context for assistants.
    pub pinned: bool,
    /// Time at which it was written.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!(NoteId);
