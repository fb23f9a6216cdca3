//! The numbers of entries of a followed feed. Triggers of the database update them with every change of an entry (see
//! `migration::counters`); only a repair writes them otherwise.

use sea_orm::entity::prelude::*;
use values::id::{FeedId, UserId};

/// The numbers of entries of a followed feed. The row is created and deleted with the feed.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed_count")]
pub struct Model {
    /// The user who follows the feed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The feed of this follower.
    #[sea_orm(primary_key, auto_increment = false)]
    pub feed_id: FeedId,
    /// Number of entries.
    pub entries: i64,
    /// Number of entries that are not marked as read.
    pub unread: i64,
}

crate::owned::owned_table!();
