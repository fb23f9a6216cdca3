//! Progress of the transcription of a recording: one row for each version of the text of its document.

use sea_orm::entity::prelude::*;
use values::id::{DocumentId, UserId};

/// Progress of the transcription of a recording: one row for each version of the text of its document.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "transcript")]
pub struct Model {
    /// The document whose recording is transcribed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// The version of the text that it will be.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// The user who owns it.
    pub user_id: UserId,
    /// Identity of the recording: a transcription is continued only with the recording with which it was begun.
    pub recording: String,
    /// Name of the transcription model; empty for a transcript that was imported.
    pub model: String,
    /// ISO 639-1 code of its language, once it was detected with certainty.
    pub language: Option<String>,
    /// Number of samples (16,000 per second) whose segments are stored.
    pub transcribed_samples: i64,
    /// Number of those samples in windows that the transcription service refused. They have no text.
    pub refused_samples: i64,
    /// Number of segments that are stored so far.
    pub segments: i32,
    /// Share of the recording that is transcribed, 0 to 1.
    pub progress: f64,
    /// Whether the whole recording is transcribed.
    pub is_finished: bool,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the transcript of a document and version, if it belongs to this user.
    pub fn one_of_document(user: UserId, document: DocumentId, version: i32) -> Select<Entity> {
        Self::owned_by(user).filter(Column::DocumentId.eq(document)).filter(Column::Version.eq(version))
    }
}
