//! A tag on a bookmark.

use crate::id::{BookmarkId, UserId};
use sea_orm::entity::prelude::*;

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
