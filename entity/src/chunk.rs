//! A passage of a document. The chunks of a version, in order, are the text of the document; there is no other copy.

use sea_orm::entity::prelude::*;
use values::id::{ChunkId, DocumentId, UserId};

/// A passage of a document. The chunks of a version, in order, are the text of the document; there is no other copy.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "chunk")]
pub struct Model {
    /// The id of the passage, which is also the id of its point in the index.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ChunkId,
    /// The document whose text contains the passage.
    pub document_id: DocumentId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The version of the document text to which it belongs.
    pub version: i32,
    /// Its position in that version, from 0.
    pub ordinal: i32,
    /// Start offset in the text, in Unicode scalar values.
    pub start_offset: i32,
    /// End offset in the text, in Unicode scalar values.
    pub end_offset: i32,
    /// Page of a PDF file, from 1.
    pub page: Option<i32>,
    /// Start time in a recording.
    pub start_seconds: Option<f64>,
    /// End time in a recording.
    pub end_seconds: Option<f64>,
    /// The text of the document from the start offset to the end offset.
    #[sea_orm(column_type = "Text")]
    pub text: String,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the passages of all users, for comparison with the index.
    pub fn of_every_user() -> Select<Entity> {
        Self::find()
    }
}
