//! A feed, fetched once for all its followers. It holds nothing about them: even its URL is normalised, so that it shows no
//! follower's spelling.

use sea_orm::entity::prelude::*;
use values::id::FeedSourceId;
use values::time::Timestamp;

/// A feed with its schedule and the result of its last fetch.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed_source")]
pub struct Model {
    /// Id of the source; users see only the ids of their own feeds.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: FeedSourceId,
    /// The normalised URL, by which sources are compared and which is fetched.
    #[sea_orm(column_type = "Text", unique)]
    pub url: String,
    /// Title that the feed states about itself.
    #[sea_orm(column_type = "Text", nullable)]
    pub title: Option<String>,
    /// URL of the site to which the feed belongs.
    #[sea_orm(column_type = "Text", nullable)]
    pub site_url: Option<String>,
    /// `ETag` of the stored copy.
    #[sea_orm(column_type = "Text", nullable)]
    pub etag: Option<String>,
    /// `Last-Modified` of the stored copy.
    #[sea_orm(column_type = "Text", nullable)]
    pub last_modified: Option<String>,
    /// Time of the last successful fetch.
    pub fetched_at: Option<Timestamp>,
    /// Time of the next fetch; `None` if the server reported that the feed is gone permanently.
    pub next_fetch_at: Option<Timestamp>,
    /// Time until which the server asked for no requests (`Retry-After`); it holds for all followers.
    pub wait_until: Option<Timestamp>,
    /// Seconds between a successful fetch and the next one.
    pub interval_seconds: i64,
    /// Number of failed fetches since the last successful one.
    pub failures: i32,
    /// Why the last fetch failed, as a message for users.
    #[sea_orm(column_type = "Text", nullable)]
    pub error: Option<String>,
    /// Time at which it was first followed.
    pub created_at: Timestamp,
    /// Time of the last fetch, successful or not; `None` before the first.
    pub tried_at: Option<Timestamp>,
    /// Time of the first of the failed fetches since the last successful one; `None` if the last fetch succeeded.
    pub failing_since: Option<Timestamp>,
}

crate::owned::no_relations!();
