//! A followed feed: each follower's own row. What is fetched is its [source](crate::feed_source).

use crate::id::{FeedId, FeedSourceId, UserId};
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A followed feed: each follower's own row.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed")]
pub struct Model {
    /// The feed.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: FeedId,
    /// Who follows it.
    pub user_id: UserId,
    /// What is fetched for it; a user follows a source once.
    pub source_id: FeedSourceId,
    /// Its address, in the follower's own spelling.
    #[sea_orm(column_type = "Text")]
    pub url: String,
    /// A title of the follower's own instead of the feed's.
    #[sea_orm(column_type = "Text", nullable)]
    pub title: Option<String>,
    /// The folder that it stands in.
    #[sea_orm(column_type = "Text", nullable)]
    pub folder: Option<String>,
    /// Where the feed gives a summary, the page is fetched.
    pub full_text: bool,
    /// When the person began to follow it.
    pub created_at: Timestamp,
}

crate::owned::owned_table!(FeedId);

impl Entity {
    /// Everybody's rows of one source: for the fetch that serves them all, and for nobody's eyes.
    pub fn followers_of(source: FeedSourceId) -> Select<Entity> {
        Self::find().filter(Column::SourceId.eq(source))
    }
}
