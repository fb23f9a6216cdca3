//! A tag on a bookmark.

use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, UserId};
use values::time::Timestamp;

use crate::bookmark;

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
    /// The time at which the bookmark was saved, by which the bookmarks of a tag are listed. Triggers keep this and the other copies
    /// equal (migration `m0014_title_search`).
    pub saved_at: Timestamp,
    /// The flags of the bookmark ([`bookmark::ComputedColumn::Flags`]), by which the bookmarks of a tag are filtered.
    pub flags: i32,
    /// The beginning of its title ([`bookmark::ComputedColumn::TitleKey`]), by which the bookmarks of a tag are listed.
    #[sea_orm(column_type = "Text")]
    pub title_key: String,
}

impl Model {
    /// Returns the row of a tag on a bookmark.
    pub fn new(bookmark: &bookmark::Model, name: String) -> Self {
        Self {
            bookmark_id: bookmark.id,
            name,
            user_id: bookmark.user_id,
            saved_at: bookmark.saved_at,
            flags: bookmark.flags(),
            title_key: bookmark.title_key(),
        }
    }
}

crate::owned::owned_table!();
