//! A query of the list of bookmarks that the user has saved under a name.

use sea_orm::entity::prelude::*;
use values::id::{SavedSearchId, UserId};
use values::time::Timestamp;

/// A query of the list of bookmarks that the user has saved under a name.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "saved_search")]
pub struct Model {
    /// Id of the saved search.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: SavedSearchId,
    /// The user who owns it.
    pub user_id: UserId,
    /// Its name; names may repeat.
    pub name: String,
    /// The query, in the language of `library::query`.
    #[sea_orm(column_type = "Text")]
    pub query: String,
    /// Its place among the pinned ones, from 0; `None` if it is not pinned.
    pub position: Option<i32>,
    /// Time at which it was saved.
    pub created_at: Timestamp,
    /// Time of the last change of its name, query or place.
    pub updated_at: Timestamp,
}

crate::owned::owned_table!(SavedSearchId);
