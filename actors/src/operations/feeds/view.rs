//! The view of a followed feed, loaded for many feeds together.

use std::collections::HashMap;

use database::padded;
use entity::{feed, feed_count, job};
use errors::Error;
use jobs::JobKind;
use library::feeds::{display_title, source};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use serde::Serialize;
use values::id::{FeedId, UserId};
use values::kind::JobState;
use values::time::Timestamp;

/// A followed feed (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedView {
    /// Id of the feed for this user.
    pub feed_id: FeedId,
    /// URL from which the feed is fetched.
    pub url: String,
    /// URL of the site to which the feed belongs; null if the feed names none.
    pub site_url: Option<String>,
    /// Title: the user's, or the feed's own.
    pub title: String,
    /// Name of the folder in which the feed is listed; null if it is in none.
    pub folder: Option<String>,
    /// Whether the page of an entry is fetched if the feed contains only a summary.
    pub full_text: bool,
    /// Number of entries of the feed in the library.
    pub entry_count: i64,
    /// Number of entries that are not marked as read.
    pub unread_count: i64,
    /// Time of the last successful fetch; null before the first.
    pub last_fetched_at: Option<Timestamp>,
    /// Why the last fetch failed, or its entries could not be added; null if neither failed.
    pub last_error: Option<String>,
    /// Time of the next fetch; null if the server reported that the feed is gone permanently.
    pub next_fetch_at: Option<Timestamp>,
}

/// A followed feed, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FeedResponse {
    /// The feed after the request.
    pub feed: FeedView,
}

/// Loads the view of one feed.
pub async fn load_one(db: &impl ConnectionTrait, row: feed::Model) -> Result<FeedView, Error> {
    load_many(db, row.user_id, vec![row]).await?.pop().ok_or(Error::not_found())
}

/// A followed feed with the state of its fetches, as the pages of feeds show it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FollowedFeed {
    /// The feed.
    #[serde(flatten)]
    pub feed: FeedView,
    /// Number of failed fetches since the last successful one.
    pub failures: i32,
    /// When the first of these fetches failed; null if the last fetch succeeded.
    pub failing_since: Option<Timestamp>,
    /// When the feed was last fetched, successfully or not; null before the first fetch.
    pub last_tried_at: Option<Timestamp>,
}

impl FollowedFeed {
    /// Returns whether the last fetch failed, or its entries could not be added.
    pub fn is_failing(&self) -> bool {
        self.feed.last_error.is_some()
    }
}

/// Loads the views of feeds of one user, in their order, with three queries for any number of them.
pub async fn load_many(
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<feed::Model>,
) -> Result<Vec<FeedView>, Error> {
    Ok(load_followed(db, user, rows).await?.into_iter().map(|followed| followed.feed).collect())
}

/// Returns the titles of feeds of one user.
pub async fn load_titles(
    db: &impl ConnectionTrait,
    user: UserId,
    feeds: &[FeedId],
) -> Result<HashMap<FeedId, String>, Error> {
    if feeds.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = feed::Entity::owned_by(user).filter(feed::Column::Id.is_in(padded(feeds))).all(db).await?;
    let sources = source::find_many(db, rows.iter().map(|row| row.source_id)).await?;
    let title = |row: &feed::Model| Some((row.id, display_title(row, sources.get(&row.source_id)?)));
    Ok(rows.iter().filter_map(title).collect())
}

/// Loads the feeds of one user with the states of their fetches, as [`load_many`] does.
pub async fn load_followed(
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<feed::Model>,
) -> Result<Vec<FollowedFeed>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let sources = source::find_many(db, rows.iter().map(|row| row.source_id)).await?;
    let ids: Vec<FeedId> = rows.iter().map(|row| row.id).collect();
    let counts = entry_counts(db, user, &ids).await?;
    let mut delivery_errors = delivery_errors(db, user, &ids).await?;
    let views = rows.into_iter().filter_map(|row| {
        let source = sources.get(&row.source_id)?;
        let counts = counts.get(&row.id);
        let feed = FeedView {
            feed_id: row.id,
            site_url: source.site_url.clone(),
            title: display_title(&row, source),
            url: row.url,
            folder: row.folder,
            full_text: row.full_text,
            entry_count: counts.map_or(0, |counts| counts.entries),
            unread_count: counts.map_or(0, |counts| counts.unread),
            last_fetched_at: source.fetched_at,
            last_error: delivery_errors.remove(&row.id).or_else(|| source.error.clone()),
            next_fetch_at: source.next_fetch_at,
        };
        Some(FollowedFeed {
            feed,
            failures: source.failures,
            failing_since: source.failing_since,
            last_tried_at: source.tried_at.or(source.fetched_at),
        })
    });
    Ok(views.collect())
}

/// Returns why entries of these feeds were not delivered, such as a full library. The delivery is retried.
async fn delivery_errors(
    db: &impl ConnectionTrait,
    user: UserId,
    feeds: &[FeedId],
) -> Result<HashMap<FeedId, String>, Error> {
    let failed = job::Entity::owned_by(user)
        .filter(job::Column::Subject.is_in(feeds.iter().map(|feed| feed.0)))
        .filter(job::Column::Kind.eq(JobKind::DeliverEntries.name()))
        .filter(job::Column::State.eq(JobState::Queued))
        .filter(job::Column::Error.is_not_null());
    let failed = failed.all(db).await?;
    Ok(failed.into_iter().filter_map(|job| Some((FeedId(job.subject), job.error?))).collect())
}

async fn entry_counts(
    db: &impl ConnectionTrait,
    user: UserId,
    feeds: &[FeedId],
) -> Result<HashMap<FeedId, feed_count::Model>, Error> {
    let counts = feed_count::Entity::owned_by(user)
        .filter(feed_count::Column::FeedId.is_in(feeds.iter().copied()))
        .all(db)
        .await?;
    Ok(counts.into_iter().map(|row| (row.feed_id, row)).collect())
}
