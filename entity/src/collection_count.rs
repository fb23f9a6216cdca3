//! The number of bookmarks in a collection. Triggers of the database update it with every change of a membership or of a bookmark (see
//! `migration::counters`); only a repair writes it otherwise.

use sea_orm::entity::prelude::*;
use values::id::{CollectionId, UserId};

/// The number of bookmarks in a collection. The row is created and deleted with the collection.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "collection_count")]
pub struct Model {
    /// The owner of the collection.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The collection.
    #[sea_orm(primary_key, auto_increment = false)]
    pub collection_id: CollectionId,
    /// Number of bookmarks in the collection, without deleted ones and without those in nested collections.
    pub bookmarks: i64,
}

crate::owned::owned_table!();
