//! Words by which a user mutes entries of feeds.

use sea_orm::entity::prelude::*;
use values::id::{FeedId, FeedMuteId, UserId};
use values::time::Timestamp;

/// Words by which a user mutes entries: an entry whose title or summary contains them is marked as read when it arrives.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed_mute")]
pub struct Model {
    /// Id of the rule.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: FeedMuteId,
    /// The user whose entries are muted.
    pub user_id: UserId,
    /// The feed to which the rule applies; `None` for all feeds.
    pub feed_id: Option<FeedId>,
    /// The words, as the user entered them.
    #[sea_orm(column_type = "Text")]
    pub words: String,
    /// Time at which the rule was made.
    pub created_at: Timestamp,
}

crate::owned::owned_table!(FeedMuteId);
