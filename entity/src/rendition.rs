//! How a document's text is shown to a reader.

use crate::id::{DocumentId, UserId};
use sea_orm::entity::prelude::*;

/// How a document's text is shown to a reader: of the version that is its text now.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "rendition")]
pub struct Model {
    /// The document.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// Whose it is.
    pub user_id: UserId,
    /// Its words as HTML that is safe to show; none where there was no markup.
    #[sea_orm(column_type = "Text", nullable)]
    pub html: Option<String>,
    /// Its headings, as JSON.
    #[sea_orm(column_type = "Text")]
    pub outline: String,
}

crate::owned::owned_changes!();

impl Entity {
    /// How this user's document is shown, where more than its text is known.
    pub fn one_of(user: UserId, document: DocumentId) -> Select<Entity> {
        Self::find_by_id(document).filter(Column::UserId.eq(user))
    }
}
