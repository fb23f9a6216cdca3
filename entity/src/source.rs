//! What a document is made from, where it was given and not fetched: kept until the text is in.

use crate::id::{DocumentId, UserId};
use crate::kind::SourceForm;
use sea_orm::entity::prelude::*;

/// What a document is made from, where it was given and not fetched: kept until the text is in.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "source")]
pub struct Model {
    /// The document.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// Whose it is.
    pub user_id: UserId,
    /// `html` or `text`.
    pub form: SourceForm,
    /// The content as it was given.
    #[sea_orm(column_type = "Text")]
    pub body: String,
    /// The same as HTML that is safe to show, where a feed gave it.
    #[sea_orm(column_type = "Text", nullable)]
    pub html: Option<String>,
    /// Its headings as JSON, where a feed gave it.
    #[sea_orm(column_type = "Text", nullable)]
    pub outline: Option<String>,
}

crate::owned::owned_changes!();

impl Entity {
    /// What this user gave for this document, where it is still kept.
    pub fn one_of(user: UserId, document: DocumentId) -> Select<Entity> {
        Self::find_by_id(document).filter(Column::UserId.eq(user))
    }
}
