//! A bookmark's place in a collection.

use crate::id::{BookmarkId, CollectionId, UserId};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A bookmark's place in a collection.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "collection_bookmark")]
pub struct Model {
    /// The collection.
    #[sea_orm(primary_key, auto_increment = false)]
    pub collection_id: CollectionId,
    /// The bookmark.
    #[sea_orm(primary_key, auto_increment = false)]
    pub bookmark_id: BookmarkId,
    /// Whose both are.
    pub user_id: UserId,
    /// When it was put there.
    pub added_at: Timestamp,
}

crate::owned::owned_table!();
