//! The text of a document prepared for display.

use sea_orm::entity::prelude::*;
use values::id::{DocumentId, UserId};

/// The current version of the text of a document, prepared for display.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "rendition")]
pub struct Model {
    /// The document that is displayed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The text as sanitised HTML; `None` if the source had no markup.
    #[sea_orm(column_type = "Text", nullable)]
    pub html: Option<String>,
    /// Headings with their levels and offsets, as JSON.
    #[sea_orm(column_type = "Text")]
    pub outline: String,
}

crate::owned::owned_changes!();

impl Entity {
    /// Returns the rendition of a document, if it belongs to this user and has one.
    pub fn one_of_document(user: UserId, document: DocumentId) -> Select<Entity> {
        Self::find_by_id(document).filter(Column::UserId.eq(user))
    }

    /// Returns the renditions of these documents, those that belong to this user and have one.
    pub fn of_documents(user: UserId, documents: impl IntoIterator<Item = DocumentId>) -> Select<Entity> {
        Self::find().filter(Column::UserId.eq(user)).filter(Column::DocumentId.is_in(documents))
    }
}
