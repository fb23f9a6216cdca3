//! A tag on a bookmark.

use sea_orm::entity::prelude::*;
use values::id::{BookmarkId, UserId};

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
}

crate::owned::owned_table!();
