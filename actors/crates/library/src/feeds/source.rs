//! The rows of sources: created when the first user follows a URL, and written after each fetch.

use std::collections::HashMap;
use std::time::Duration;

use entity::{feed, feed_content, feed_source};
use errors::Error;
use jobs::{JobKind, Priority};
use parse::feed::Feed;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, ExprTrait, LockBehavior, LockType, OnConflict, Query};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect,
};
use values::id::{FeedSourceId, UserId};
use values::time::Timestamp;
use web::PageUrl;

use super::{hub, schedule};

// Until the first fetch tells how often entries appear.
const INITIAL_INTERVAL_SECONDS: i64 = 6 * 3600;

/// The reason that followers see while no library of theirs has room for the feed. Without the numbers of
/// [`Error::LibraryFull`]: all followers see it, and the size of a library is known to its owner alone.
const NO_ROOM: &str = "the library of this account is full: it has no room for new entries of this feed; delete something, or ask \
                       the operator for another plan";

/// The values by which a server tells whether a feed has changed (RFC 9110, section 8.8).
#[derive(Clone, Debug, Default)]
pub struct Validators {
    /// The value of `ETag`, sent back as `If-None-Match`.
    pub etag: Option<String>,
    /// The value of `Last-Modified`, sent back as `If-Modified-Since`.
    pub last_modified: Option<String>,
}

/// Why the fetch of a source failed, and when it may be tried again.
#[derive(Debug)]
pub struct FetchFailure {
    /// The reason that followers see. It contains no part of a URL.
    pub reason: String,
    /// How long the server asks not to be requested again.
    pub retry_after: Option<Duration>,
    /// The server says that the feed is gone for good: it is not fetched again unless a user asks for it.
    pub is_gone: bool,
}

/// Returns the source with this normalised URL.
pub async fn find_by_url(
    db: &impl ConnectionTrait,
    normalized: &str,
) -> Result<Option<feed_source::Model>, Error> {
    Ok(feed_source::Entity::find().filter(feed_source::Column::Url.eq(normalized)).one(db).await?)
}

/// Returns the sources with these ids.
pub async fn find_many(
    db: &impl ConnectionTrait,
    ids: impl IntoIterator<Item = FeedSourceId>,
) -> Result<HashMap<FeedSourceId, feed_source::Model>, Error> {
    let rows = feed_source::Entity::find().filter(feed_source::Column::Id.is_in(ids)).all(db).await?;
    Ok(rows.into_iter().map(|row| (row.id, row)).collect())
}

/// Returns the source of a URL. A new source is created if there is none; its first fetch is due now.
pub async fn get_or_create(
    txn: &impl ConnectionTrait,
    url: &PageUrl,
    now: Timestamp,
) -> Result<feed_source::Model, Error> {
    let url = url.normalized();
    let row = feed_source::Model {
        id: FeedSourceId::new(now),
        url: url.clone(),
        title: None,
        site_url: None,
        etag: None,
        last_modified: None,
        fetched_at: None,
        next_fetch_at: Some(now),
        wait_until: None,
        interval_seconds: INITIAL_INTERVAL_SECONDS,
        failures: 0,
        error: None,
        created_at: now,
        tried_at: None,
        failing_since: None,
    };
    // An existing row is written to lock it: otherwise `delete_unfollowed` could remove it before it is followed.
    let existing =
        OnConflict::column(feed_source::Column::Url).update_column(feed_source::Column::Url).to_owned();
    feed_source::Entity::insert(row.into_active_model())
        .on_conflict(existing)
        .exec_without_returning(txn)
        .await?;
    find_by_url(txn, &url).await?.ok_or_else(|| Error::internal("a source was removed while it was created"))
}

/// Returns what the last successful fetch stored; `None` before the first one.
pub async fn load_content(
    db: &impl ConnectionTrait,
    source: FeedSourceId,
) -> Result<Option<feed_content::Model>, Error> {
    Ok(feed_content::Entity::find_by_id(source).one(db).await?)
}

/// Returns the version of a source's copy, without reading the copy; `None` before the first successful fetch.
pub async fn content_version(db: &impl ConnectionTrait, source: FeedSourceId) -> Result<Option<i64>, Error> {
    let version =
        feed_content::Entity::find_by_id(source).select_only().column(feed_content::Column::Version);
    Ok(version.into_tuple().one(db).await?)
}

/// Returns the feed of a stored body. A copy that cannot be read counts as none: the next fetch replaces it. It takes long for a large
/// feed, so it runs on a worker.
pub fn parse_content(body: &str) -> Option<Feed> {
    serde_json::from_str(body).ok()
}

/// Returns by how many bytes this feed is larger than the source's copy, in the form in which it is stored.
pub async fn copy_growth(
    db: &impl ConnectionTrait,
    source: FeedSourceId,
    feed: &Feed,
) -> Result<usize, Error> {
    let stored = feed_content::Entity::find_by_id(source)
        .select_only()
        // Does not read the text, which LENGTH would do to count its characters.
        .column_as(Expr::cust("CAST(OCTET_LENGTH(body) AS BIGINT)"), "bytes");
    let stored: Option<i64> = stored.into_tuple().one(db).await?;
    let stored = stored.map_or(0, |bytes| usize::try_from(bytes).unwrap_or_default());
    let body = serde_json::to_string(feed).map_err(Error::internal)?;
    Ok(body.len().saturating_sub(stored))
}

/// Returns the validators of a source's copy.
pub fn validators(source: &feed_source::Model) -> Validators {
    Validators { etag: source.etag.clone(), last_modified: source.last_modified.clone() }
}

/// Stores the feed that a fetch returned as the source's copy, and schedules the next fetch.
pub async fn record_feed(
    txn: &impl ConnectionTrait,
    source: feed_source::Model,
    feed: &Feed,
    validators: Validators,
    now: Timestamp,
) -> Result<(), Error> {
    let body = serde_json::to_string(feed).map_err(Error::internal)?;
    let row = feed_content::Model { source_id: source.id, version: 1, body };
    let next_version = Expr::col((feed_content::Entity, feed_content::Column::Version)).add(1);
    let replace = OnConflict::column(feed_content::Column::SourceId)
        .update_column(feed_content::Column::Body)
        .value(feed_content::Column::Version, next_version)
        .to_owned();
    feed_content::Entity::insert(row.into_active_model())
        .on_conflict(replace)
        .exec_without_returning(txn)
        .await?;
    hub::store_offer(txn, source.id, feed, now).await?;
    let interval = schedule::interval(feed, now);
    let mut changed = mark_fetched(source, interval, now);
    changed.title = Set(feed.title.clone());
    changed.site_url = Set(feed.site_url.clone());
    changed.etag = Set(validators.etag);
    changed.last_modified = Set(validators.last_modified);
    changed.update(txn).await?;
    Ok(())
}

/// Returns the interval from a successful fetch of this feed to the next one.
pub fn fetch_interval(feed: &Feed, now: Timestamp) -> Duration {
    schedule::interval(feed, now)
}

/// Records a fetch that found the copy unchanged, and schedules the next one after the [interval](fetch_interval) of the copy.
pub async fn record_unchanged(
    txn: &impl ConnectionTrait,
    source: feed_source::Model,
    interval: Duration,
    now: Timestamp,
) -> Result<(), Error> {
    mark_fetched(source, interval, now).update(txn).await?;
    Ok(())
}

fn mark_fetched(source: feed_source::Model, interval: Duration, now: Timestamp) -> feed_source::ActiveModel {
    let next = now + schedule::spread(source.id, interval);
    let mut changed = source.into_active_model();
    changed.fetched_at = Set(Some(now));
    changed.next_fetch_at = Set(Some(next));
    changed.wait_until = Set(None);
    changed.interval_seconds = Set(i64::try_from(interval.as_secs()).unwrap_or(INITIAL_INTERVAL_SECONDS));
    changed.failures = Set(0);
    changed.error = Set(None);
    changed.tried_at = Set(Some(now));
    changed.failing_since = Set(None);
    changed
}

/// Records a failed fetch and schedules a retry. The copy stays.
pub async fn record_failure(
    txn: &impl ConnectionTrait,
    source: feed_source::Model,
    failure: FetchFailure,
    now: Timestamp,
) -> Result<(), Error> {
    let failures = source.failures.saturating_add(1);
    let wait = schedule::spread(source.id, schedule::retry_delay(failures, failure.retry_after));
    let failing_since = source.failing_since.unwrap_or(now);
    let mut changed = source.into_active_model();
    changed.next_fetch_at = Set((!failure.is_gone).then_some(now + wait));
    // Stored besides the time of the next fetch: a refresh that a user asks for does not wait for that, but it must wait for this.
    changed.wait_until = Set(failure.retry_after.map(|asked| now + asked));
    changed.failures = Set(failures);
    changed.error = Set(Some(failure.reason));
    changed.tried_at = Set(Some(now));
    changed.failing_since = Set(Some(failing_since));
    changed.update(txn).await?;
    Ok(())
}

/// Records that the feed was not fetched, or its content not stored, because no library of its followers has room. The next fetch
/// is scheduled as after a successful one. The copy and the number of failures stay: the server of the feed did not fail.
pub async fn record_no_room(
    txn: &impl ConnectionTrait,
    source: feed_source::Model,
    now: Timestamp,
) -> Result<(), Error> {
    let interval = schedule::interval_of_seconds(source.interval_seconds);
    let next = now + schedule::spread(source.id, interval);
    // A source that is gone for good has no next fetch, and gets none.
    let next = source.next_fetch_at.map(|_| next);
    let mut changed = source.into_active_model();
    changed.next_fetch_at = Set(next);
    changed.error = Set(Some(NO_ROOM.to_owned()));
    changed.update(txn).await?;
    Ok(())
}

/// Makes the next fetch due now if the last one was left out because no follower had room, for a user who begins to follow.
pub(super) async fn retry_without_room(
    txn: &impl ConnectionTrait,
    source: &feed_source::Model,
    now: Timestamp,
) -> Result<(), Error> {
    if source.error.as_deref() == Some(NO_ROOM) {
        advance_next_fetch(txn, source.id, now).await?;
    }
    Ok(())
}

/// Makes the next fetch due at this time, unless it is due earlier or never.
pub async fn advance_next_fetch(
    txn: &impl ConnectionTrait,
    source: FeedSourceId,
    time: Timestamp,
) -> Result<(), Error> {
    feed_source::Entity::update_many()
        .col_expr(feed_source::Column::NextFetchAt, Expr::value(Some(time)))
        .filter(feed_source::Column::Id.eq(source))
        // Not true of NULL: a source that is gone for good stays so.
        .filter(feed_source::Column::NextFetchAt.gt(time))
        .exec(txn)
        .await?;
    Ok(())
}

/// Enqueues the delivery of the copy to every follower. The job of the user `first` runs before the others.
pub async fn enqueue_deliveries(
    txn: &impl ConnectionTrait,
    source: FeedSourceId,
    first: Option<UserId>,
    now: Timestamp,
) -> Result<(), Error> {
    enqueue_delivery_to(txn, feed::Entity::followers_of(source).all(txn).await?, first, now).await
}

async fn enqueue_delivery_to(
    txn: &impl ConnectionTrait,
    followers: Vec<feed::Model>,
    first: Option<UserId>,
    now: Timestamp,
) -> Result<(), Error> {
    // One job for each follower: a delivery is one transaction of one user, and counts towards the library of that user.
    for follower in followers {
        let priority = if first == Some(follower.user_id) { Priority::Now } else { Priority::Backlog };
        jobs::enqueue(txn, follower.user_id, JobKind::DeliverEntries, follower.id.0, priority, now).await?;
    }
    Ok(())
}

/// Moves a source to the URL to which its server redirects permanently. If that URL is a source already, the
/// followers change to it, except those who follow both: they keep both. The transaction must hold the
/// counts of all followers ([`crate::owned_transaction::begin_owned_by_followers`]).
pub async fn move_to(
    txn: &impl ConnectionTrait,
    source: &feed_source::Model,
    to: &PageUrl,
    now: Timestamp,
) -> Result<feed_source::Model, Error> {
    let url = to.normalized();
    let followers = feed::Entity::update_many()
        .col_expr(feed::Column::Url, Expr::value(to.as_str()))
        .filter(feed::Column::SourceId.eq(source.id));
    match find_by_url(txn, &url).await? {
        Some(target) if target.id == source.id => {}
        Some(target) => {
            // A user has at most one feed of a source (unique index `feed_follower`), so those who follow both are left out.
            let followers_of_target = Query::select()
                .column(feed::Column::UserId)
                .from(feed::Entity)
                .and_where(feed::Column::SourceId.eq(target.id))
                .to_owned();
            let new = feed::Entity::followers_of(source.id);
            let new = new.filter(feed::Column::UserId.not_in_subquery(followers_of_target)).all(txn).await?;
            if !new.is_empty() {
                let ids = new.iter().map(|follower| follower.id);
                let followers = followers.col_expr(feed::Column::SourceId, Expr::value(target.id));
                followers.filter(feed::Column::Id.is_in(ids)).exec(txn).await?;
                // The next fetch may find nothing new, but new followers have none of the entries yet.
                enqueue_delivery_to(txn, new, None, now).await?;
                let mut due = target.into_active_model();
                due.next_fetch_at = Set(Some(now));
                due.update(txn).await?;
            }
        }
        None => {
            followers.exec(txn).await?;
            let mut changed = source.clone().into_active_model();
            changed.url = Set(url);
            return Ok(changed.update(txn).await?);
        }
    }
    Ok(source.clone())
}

/// Deletes the sources without followers, with their copies. A source that is being followed at this moment is locked and is
/// skipped: waiting for it while other rows are held could end in a deadlock.
pub async fn delete_unfollowed(db: &impl ConnectionTrait) -> Result<(), Error> {
    let source_of_feed = Expr::col((feed::Entity, feed::Column::SourceId));
    let followed = Query::select()
        .column(feed::Column::Id)
        .from(feed::Entity)
        .and_where(source_of_feed.equals((feed_source::Entity, feed_source::Column::Id)))
        .to_owned();
    let unfollowed = Query::select()
        .column(feed_source::Column::Id)
        .from(feed_source::Entity)
        .and_where(Expr::exists(followed).not())
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
        .to_owned();
    let deleted = feed_source::Entity::delete_many();
    deleted.filter(feed_source::Column::Id.in_subquery(unfollowed)).exec(db).await?;
    Ok(())
}
