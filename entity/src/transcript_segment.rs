//! A segment of a transcript with its times.

use sea_orm::entity::prelude::*;
use values::id::{DocumentId, UserId};

/// A segment of a transcript with its times.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "transcript_segment")]
pub struct Model {
    /// The document to whose transcript it belongs.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// The version of the text to which it belongs.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// Its position in the transcript, from 0.
    #[sea_orm(primary_key, auto_increment = false)]
    pub ordinal: i32,
    /// The user who owns it.
    pub user_id: UserId,
    /// Start time from the beginning of the recording.
    pub start_seconds: f64,
    /// End time, later than the start.
    pub end_seconds: f64,
    /// The words that were spoken between these times.
    #[sea_orm(column_type = "Text")]
    pub text: String,
}

crate::owned::owned_table!();
