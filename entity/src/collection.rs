//! A user's collection of bookmarks.

use sea_orm::entity::prelude::*;
use values::id::{CollectionId, UserId};
use values::time::Timestamp;

/// A user's collection of bookmarks.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "collection")]
pub struct Model {
    /// Id of the collection; lists are sorted by it.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: CollectionId,
    /// The user who owns it.
    pub user_id: UserId,
    /// Its name; names may repeat.
    pub name: String,
    /// Description by the user, if there is one.
    #[sea_orm(column_type = "Text", nullable)]
    pub description: Option<String>,
    /// The collection that contains it; `None` at the top level.
    pub parent_id: Option<CollectionId>,
    /// Time at which it was created.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!(CollectionId);
