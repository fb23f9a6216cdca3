//! A highlight in the document of a bookmark.

use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, HighlightId, UserId};
use values::kind::AnchorState;
use values::time::Timestamp;

/// A highlight in the document of a bookmark.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "highlight")]
pub struct Model {
    /// Id of the highlight; a project may refer to it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: HighlightId,
    /// The user who owns it.
    pub user_id: UserId,
    /// The bookmark in whose document it is.
    pub bookmark_id: BookmarkId,
    /// The highlighted text, as it was when it was highlighted.
    #[sea_orm(column_type = "Text")]
    pub text: String,
    /// The user's note on the highlight.
    #[sea_orm(column_type = "Text", nullable)]
    pub note: Option<String>,
    /// Name of its colour, if the user chose one.
    pub color: Option<String>,
    /// Start offset in the text of the document, in Unicode scalar values.
    pub start_offset: i32,
    /// End offset in the text of the document, in Unicode scalar values.
    pub end_offset: i32,
    /// Whether the current text has the words at these offsets because they were marked there, because they were found again, or not
    /// at all. Of a highlight that waits for its text it says nothing.
    pub anchor_state: AnchorState,
    /// Time at which the text was highlighted.
    pub created_at: Timestamp,
}

crate::owned::owned_table!(HighlightId);
