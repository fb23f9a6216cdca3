//! The membership of a bookmark in a collection.

use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, CollectionId, UserId};
use values::time::Timestamp;

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
    /// The time at which the bookmark was saved, by which the bookmarks of a collection are listed. A trigger keeps the copy equal
    /// (migration `m0014_title_search`).
    pub saved_at: Timestamp,
}

crate::owned::owned_table!();
