//! A user's collection of bookmarks.

use crate::id::{CollectionId, UserId};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A user's collection of bookmarks.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "collection")]
pub struct Model {
    /// The collection.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: CollectionId,
    /// The user who owns it.
    pub user_id: UserId,
    /// Its name; names may repeat.
    pub name: String,
    /// Its description.
    #[sea_orm(column_type = "Text", nullable)]
    pub description: Option<String>,
    /// The parent collection.
    pub parent_id: Option<CollectionId>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!(CollectionId);
