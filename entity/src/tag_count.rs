//! A tag of a user with the number of its bookmarks. Triggers of the database update it with every change of a tag or of a bookmark (see
//! `migration::counters`); only a repair writes it otherwise.

use sea_orm::entity::prelude::*;
use values::id::UserId;

/// A tag of a user with the number of its bookmarks. There is no row for a tag that only deleted bookmarks have.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "tag_count")]
pub struct Model {
    /// The user who owns the bookmarks.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The tag.
    #[sea_orm(primary_key, auto_increment = false)]
    pub name: String,
    /// Number of bookmarks with the tag, without deleted ones; at least 1.
    pub bookmarks: i64,
}

crate::owned::owned_table!();
