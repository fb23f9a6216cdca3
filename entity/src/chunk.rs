//! A passage. The chunks of a document's version, in order, are its text: there is no other copy.

use crate::id::{ChunkId, DocumentId, UserId};
use sea_orm::entity::prelude::*;

/// A passage. The chunks of a document's version, in order, are its text: there is no other copy.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "chunk")]
pub struct Model {
    /// The passage; also its point in the index.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ChunkId,
    /// The document.
    pub document_id: DocumentId,
    /// Whose it is.
    pub user_id: UserId,
    /// The version of the document that it belongs to.
    pub version: i32,
    /// Its place in that version, from 0.
    pub ordinal: i32,
    /// Where it begins in the text, in Unicode scalar values.
    pub start_offset: i32,
    /// Where it ends.
    pub end_offset: i32,
    /// Page of a PDF, from 1.
    pub page: Option<i32>,
    /// Where it begins in a recording.
    pub start_seconds: Option<f64>,
    /// Where it ends.
    pub end_seconds: Option<f64>,
    /// The text.
    #[sea_orm(column_type = "Text")]
    pub text: String,
}

crate::owned::owned_table!();

impl Entity {
    /// The rows of every user: what the index is compared with.
    pub fn of_every_user() -> Select<Entity> {
        Self::find()
    }
}
