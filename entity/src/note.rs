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

/// No relations are walked; finders name what they need.
#[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Entity {
    /// The rows of one user.
    pub fn owned_by(user: UserId) -> Select<Entity> {
        Self::find().filter(Column::UserId.eq(user))
    }

    /// One row, if it is this user's.
    pub fn one_of(user: UserId, id: NoteId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::Id.eq(id))
    }
}
