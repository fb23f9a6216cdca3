//! A feed as its follower is shown it, gathered for many at once.

use std::collections::HashMap;

use entity::id::{FeedId, FeedSourceId, UserId};
use entity::kind::JobState;
use entity::time::Timestamp;
use entity::{entry, feed, feed_source, job};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use serde::Serialize;

use errors::Error;
use jobs::JobKind;

/// A followed feed (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedView {
    feed_id: FeedId,
    url: String,
    site_url: Option<String>,
    title: String,
    folder: Option<String>,
    full_text: bool,
    entry_count: i64,
    unread_count: i64,
    last_fetched_at: Option<Timestamp>,
    last_error: Option<String>,
    next_fetch_at: Option<Timestamp>,
}

impl FeedView {
    /// Its address, in the follower's spelling.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The page that it is the feed of.
    pub fn site_url(&self) -> Option<&str> {
        self.site_url.as_deref()
    }

    /// Its title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The folder that it stands in.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }
}

/// A followed feed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FeedResponse {
    /// The feed.
    pub feed: FeedView,
}

/// Shows one.
pub async fn one(db: &impl ConnectionTrait, row: feed::Model) -> Result<FeedView, Error> {
    many(db, row.user_id, vec![row]).await?.pop().ok_or(Error::not_found())
}

/// Shows many of one user, in their order, with four queries however many they are.
pub async fn many(
    db: &impl ConnectionTrait,
    user: UserId,
    rows: Vec<feed::Model>,
) -> Result<Vec<FeedView>, Error> {
    let sources: Vec<FeedSourceId> = rows.iter().map(|row| row.source_id).collect();
    let sources = feed_source::Entity::find().filter(feed_source::Column::Id.is_in(sources)).all(db).await?;
    let sources: HashMap<FeedSourceId, feed_source::Model> =
        sources.into_iter().map(|row| (row.id, row)).collect();
    let ids: Vec<FeedId> = rows.iter().map(|row| row.id).collect();
    let all = counts(db, user, &ids, false).await?;
    let unread = counts(db, user, &ids, true).await?;
    let mut undelivered = undelivered(db, user, &ids).await?;
    let shown = rows.into_iter().filter_map(|row| {
        let source = sources.get(&row.source_id)?;
        Some(FeedView {
            feed_id: row.id,
            site_url: source.site_url.clone(),
            title: row.title.or_else(|| source.title.clone()).unwrap_or_else(|| row.url.clone()),
            url: row.url,
            folder: row.folder,
            full_text: row.full_text,
            entry_count: all.get(&row.id).copied().unwrap_or(0),
            unread_count: unread.get(&row.id).copied().unwrap_or(0),
            last_fetched_at: source.fetched_at,
            last_error: undelivered.remove(&row.id).or_else(|| source.error.clone()),
            next_fetch_at: source.next_fetch_at,
        })
    });
    Ok(shown.collect())
}

/// Why entries of these feeds did not reach their follower, such as a full library. It is tried again.
async fn undelivered(
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

async fn counts(
    db: &impl ConnectionTrait,
    user: UserId,
    feeds: &[FeedId],
    unread: bool,
) -> Result<HashMap<FeedId, i64>, Error> {
    let mut of = entry::Entity::owned_by(user).filter(entry::Column::FeedId.is_in(feeds.iter().copied()));
    if unread {
        of = of.filter(entry::Column::Read.eq(false));
    }
    let counted = of
        .select_only()
        .column(entry::Column::FeedId)
        .column_as(entry::Column::Id.count(), "entries")
        .group_by(entry::Column::FeedId);
    let rows: Vec<(FeedId, i64)> = counted.into_tuple().all(db).await?;
    Ok(rows.into_iter().collect())
}
