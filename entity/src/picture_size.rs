//! The size of a picture of a document, so that a page leaves room for it.

use sea_orm::entity::prelude::*;
use values::id::{DocumentId, UserId};

/// The size of a picture of a document.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "picture_size")]
pub struct Model {
    /// The document that shows it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// The hash of its URL, by which the server is asked for it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub url_hash: Vec<u8>,
    /// The user who owns the document.
    pub user_id: UserId,
    /// Width in pixels.
    pub width: i32,
    /// Height in pixels.
    pub height: i32,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the sizes of the pictures of a document that belongs to this user.
    pub fn of_document(user: UserId, document: DocumentId) -> Select<Entity> {
        Self::owned_by(user).filter(Column::DocumentId.eq(document))
    }
}
