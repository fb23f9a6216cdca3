//! A person's collection of bookmarks.

use crate::id::{CollectionId, UserId};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A person's collection of bookmarks.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "collection")]
pub struct Model {
    /// The collection.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: CollectionId,
    /// Whose it is.
    pub user_id: UserId,
    /// Its name; names may repeat.
    pub name: String,
    /// What it is for.
    #[sea_orm(column_type = "Text", nullable)]
    pub description: Option<String>,
    /// The collection that it stands in.
    pub parent_id: Option<CollectionId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!(CollectionId);
