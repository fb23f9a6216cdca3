//! A few words of a recording, and when they are said.

use crate::id::{DocumentId, UserId};
use sea_orm::entity::prelude::*;

/// A few words of a recording, and when they are said.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "transcript_segment")]
pub struct Model {
    /// The document.
    #[sea_orm(primary_key, auto_increment = false)]
    pub document_id: DocumentId,
    /// The version of the document's text that it belongs to.
    #[sea_orm(primary_key, auto_increment = false)]
    pub version: i32,
    /// Its place, from 0.
    #[sea_orm(primary_key, auto_increment = false)]
    pub ordinal: i32,
    /// Whose it is.
    pub user_id: UserId,
    /// When it begins, from the recording's beginning.
    pub start_seconds: f64,
    /// When it ends: later than it begins.
    pub end_seconds: f64,
    /// What is said.
    #[sea_orm(column_type = "Text")]
    pub text: String,
}

crate::owned::owned_table!();
