//! The source of a document whose content was given rather than fetched. It is kept until the text is extracted.

use sea_orm::entity::prelude::*;
use values::id::{DocumentId, UserId};
use values::kind::SourceFormat;

/// The source of a document whose content was given rather than fetched. It is kept until the text is extracted.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "source")]
pub struct Model {
    /// The document whose text is extracted from it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// The user who owns it.
    pub user_id: UserId,
    /// Whether the content is HTML or plain text.
    pub format: SourceFormat,
    /// The content as it was received.
    #[sea_orm(column_type = "Text")]
    pub body: String,
    /// The content as sanitised HTML, if it comes from a feed.
    #[sea_orm(column_type = "Text", nullable)]
    pub html: Option<String>,
    /// Its headings as JSON, if it comes from a feed.
    #[sea_orm(column_type = "Text", nullable)]
    pub outline: Option<String>,
}

crate::owned::owned_changes!();

impl Entity {
    /// Returns the source of a document, if it belongs to this user and is still kept.
    pub fn one_of_document(user: UserId, document: DocumentId) -> Select<Entity> {
        Self::find_by_id(document).filter(Column::UserId.eq(user))
    }

    /// Returns the sources of these documents that belong to this user and are still kept.
    pub fn of_documents(user: UserId, documents: impl IntoIterator<Item = DocumentId>) -> Select<Entity> {
        Self::find().filter(Column::UserId.eq(user)).filter(Column::DocumentId.is_in(documents))
    }
}
