//! A followed feed. Each follower has a separate row. The [source](crate::feed_source), which is fetched, is shared.

use sea_orm::entity::prelude::*;
use values::id::{FeedId, FeedSourceId, UserId};
use values::time::Timestamp;

/// A followed feed. Each follower has a separate row.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed")]
pub struct Model {
    /// Id of the feed for this follower.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: FeedId,
    /// The user who follows the feed.
    pub user_id: UserId,
    /// The source that is fetched for it; a user follows a source at most once.
    pub source_id: FeedSourceId,
    /// Its URL as the follower entered it.
    #[sea_orm(column_type = "Text")]
    pub url: String,
    /// Title set by the follower, which replaces the title of the feed.
    #[sea_orm(column_type = "Text", nullable)]
    pub title: Option<String>,
    /// The folder that contains it.
    #[sea_orm(column_type = "Text", nullable)]
    pub folder: Option<String>,
    /// Whether the pages of entries with only a summary are fetched.
    pub full_text: bool,
    /// Time at which the user followed it.
    pub created_at: Timestamp,
}

crate::owned::owned_table!(FeedId);

impl Entity {
    /// Returns the rows of all followers of a source, for the fetch that serves all of them. They are never shown to other users.
    pub fn followers_of(source: FeedSourceId) -> Select<Entity> {
        Self::find().filter(Column::SourceId.eq(source))
    }
}
