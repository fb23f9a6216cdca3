//! How far a recording is transcribed: one row for each version of its document's text.

use crate::id::{DocumentId, UserId};
use sea_orm::entity::prelude::*;

/// How far a recording is transcribed: one row for each version of its document's text.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "transcript")]
pub struct Model {
    /// The document.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// The version of the document's text that it becomes.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// Whose it is.
    pub user_id: UserId,
    /// Tells the recording from another one: a transcript goes on only where its own recording is heard.
    pub recording: String,
    /// What transcribes it.
    pub model: String,
    /// ISO 639-1, once it was told with certainty.
    pub language: Option<String>,
    /// Samples, 16,000 a second, up to which its segments are rows.
    pub heard_samples: i64,
    /// How many of them the transcriber did not take.
    pub refused_samples: i64,
    /// How many segments there are.
    pub segments: i32,
    /// The part that is done, 0 to 1.
    pub progress: f64,
    /// Whether the whole recording was heard.
    pub finished: bool,
}

crate::owned::owned_table!();

impl Entity {
    /// One of the user's by its document and the version that it becomes.
    pub fn one_of(user: UserId, document: DocumentId, version: i32) -> Select<Entity> {
        Self::owned_by(user).filter(Column::DocumentId.eq(document)).filter(Column::Version.eq(version))
    }
}
