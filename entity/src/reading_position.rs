//! Where a user stopped reading a document.

use sea_orm::entity::prelude::*;
use values::id::{DocumentId, UserId};
use values::time::Timestamp;

/// Where a user stopped reading a document.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "reading_position")]
pub struct Model {
    /// The document that is being read.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The version of the text that was read; 0 if there was none.
    pub version: i32,
    /// Offset of the first word that was on the screen, in Unicode scalar values of that version.
    pub char_offset: i32,
    /// Second of a recording at which the user stopped, from 0; `None` for texts.
    pub seconds: Option<i32>,
    /// How much was read, 0 to 1.
    pub progress: f64,
    /// Time at which it was read last.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the position in a document, if it belongs to this user and was read.
    pub fn one_of_document(user: UserId, document: DocumentId) -> Select<Entity> {
        Self::find_by_id(document).filter(Column::UserId.eq(user))
    }
}
