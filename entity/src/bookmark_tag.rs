//! A tag on a bookmark.

use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, UserId};
use values::time::Timestamp;

/// A tag on a bookmark.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "bookmark_tag")]
pub struct Model {
    /// The tagged bookmark. The row is deleted with it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub bookmark_id: BookmarkId,
    /// The tag as the user wrote it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// The user who owns it.
    pub user_id: UserId,
    /// The time at which the bookmark was saved, by which the bookmarks of a tag are listed. A trigger keeps the copy equal (migration
    /// `m0014_title_search`).
    pub saved_at: Timestamp,
}

crate::owned::owned_table!();
