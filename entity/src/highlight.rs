//! A marked part of a bookmark's document.

use crate::id::{BookmarkId, HighlightId, UserId};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A marked part of a bookmark's document.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "highlight")]
pub struct Model {
    /// The highlight.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: HighlightId,
    /// Whose it is.
    pub user_id: UserId,
    /// The bookmark.
    pub bookmark_id: BookmarkId,
    /// The marked words.
    #[sea_orm(column_type = "Text")]
    pub text: String,
    /// What the person wrote beside them.
    #[sea_orm(column_type = "Text", nullable)]
    pub note: Option<String>,
    /// A colour's name.
    pub color: Option<String>,
    /// Where the words begin in the document's text.
    pub start_offset: i32,
    /// Where they end.
    pub end_offset: i32,
    /// When it was made.
    pub created_at: Timestamp,
}

crate::owned::owned_table!(HighlightId);
