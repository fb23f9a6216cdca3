//! The address of a feed, fetched once for all who follow it. It says nothing of who they are: not even its spelling is
//! one of theirs.

use crate::id::FeedSourceId;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// The address of a feed, with its schedule and what its last fetch said.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed_source")]
pub struct Model {
    /// The source.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: FeedSourceId,
    /// The normalised address: by it sources are compared, and it is what is fetched.
    #[sea_orm(column_type = "Text", unique)]
    pub url: String,
    /// The feed's own title.
    #[sea_orm(column_type = "Text", nullable)]
    pub title: Option<String>,
    /// The page that it is the feed of.
    #[sea_orm(column_type = "Text", nullable)]
    pub site_url: Option<String>,
    /// Validator of the copy.
    #[sea_orm(column_type = "Text", nullable)]
    pub etag: Option<String>,
    /// Validator of the copy.
    #[sea_orm(column_type = "Text", nullable)]
    pub last_modified: Option<String>,
    /// When it was last fetched well.
    pub fetched_at: Option<Timestamp>,
    /// When it is fetched next; none where its server said that it is gone for good.
    pub next_fetch_at: Option<Timestamp>,
    /// Its server asks not to be asked again before then, whoever wants it.
    pub wait_until: Option<Timestamp>,
    /// From a good fetch to the next.
    pub interval_seconds: i64,
    /// Fetches that failed since the last good one.
    pub failures: i32,
    /// Why the last fetch failed, in words for people.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// When somebody first followed it.
    pub created_at: Timestamp,
}

crate::owned::no_relations!();
