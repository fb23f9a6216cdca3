//! The membership of a bookmark in a collection.

use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, CollectionId, UserId};
use values::time::Timestamp;

use crate::bookmark;

/// The membership of a bookmark in a collection.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "collection_bookmark")]
pub struct Model {
    /// The collection that contains the bookmark.
    #[sea_orm(primary_key, auto_increment = false)]
    pub collection_id: CollectionId,
    /// The bookmark, which may be in several collections.
    #[sea_orm(primary_key, auto_increment = false)]
    pub bookmark_id: BookmarkId,
    /// The user who owns both.
    pub user_id: UserId,
    /// Time at which the bookmark was added.
    pub added_at: Timestamp,
    /// The time at which the bookmark was saved, by which the bookmarks of a collection are listed. Triggers keep this and the other copies
    /// equal (migration `m0014_title_search`).
    pub saved_at: Timestamp,
    /// The flags of the bookmark ([`bookmark::ComputedColumn::Flags`]), by which the bookmarks of a collection are filtered.
    pub flags: i32,
    /// The beginning of its title ([`bookmark::ComputedColumn::TitleKey`]), by which the bookmarks of a collection are listed.
    #[sea_orm(column_type = "Text")]
    pub title_key: String,
}

impl Model {
    /// Returns the row of a bookmark that is added to a collection now.
    pub fn new(bookmark: &bookmark::Model, collection_id: CollectionId, now: Timestamp) -> Self {
        Self {
            collection_id,
            bookmark_id: bookmark.id,
            user_id: bookmark.user_id,
            added_at: now,
            saved_at: bookmark.saved_at,
            flags: bookmark.flags(),
            title_key: bookmark.title_key(),
        }
    }
}

crate::owned::owned_table!();
