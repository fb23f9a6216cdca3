//! The rows of sources: made when somebody follows an address first, and written after each fetch.

use std::time::Duration;

use entity::id::{FeedSourceId, UserId};
use entity::time::Timestamp;
use entity::{feed, feed_copy, feed_source};
use parse::feed::Feed;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, LockBehavior, LockType, OnConflict, Query};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter};
use web::PageUrl;

use super::fetch::Validators;
use super::push::offer;
use super::schedule;
use errors::Error;
use jobs::{Priority, JobKind};

const FIRST_INTERVAL: i64 = 6 * 3600;

/// The source of this normalised address.
pub async fn with_address(db: &impl ConnectionTrait, url: &str) -> Result<Option<feed_source::Model>, Error> {
    Ok(feed_source::Entity::find().filter(feed_source::Column::Url.eq(url)).one(db).await?)
}

/// The source of this address, made where nobody follows it yet; a new one is due at once.
pub async fn settle(
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
        interval_seconds: FIRST_INTERVAL,
        failures: 0,
        error: None,
        created_at: now,
    };
    // Writing the row that is there locks it, so that no clean-up takes it away before it is followed.
    let there =
        OnConflict::column(feed_source::Column::Url).update_column(feed_source::Column::Url).to_owned();
    feed_source::Entity::insert(row.into_active_model())
        .on_conflict(there)
        .exec_without_returning(txn)
        .await?;
    with_address(txn, &url).await?.ok_or_else(|| Error::internal("a source went while it was made"))
}

/// What the last good fetch brought.
pub async fn copy(db: &impl ConnectionTrait, source: FeedSourceId) -> Result<Option<Feed>, Error> {
    let row = feed_copy::Entity::find_by_id(source).one(db).await?;
    Ok(row.and_then(|row| serde_json::from_str(&row.body).ok()))
}

/// By what the source's server tells whether its copy is still right.
pub fn validators(source: &feed_source::Model) -> Validators {
    Validators { etag: source.etag.clone(), last_modified: source.last_modified.clone() }
}

/// Writes down a fetch that brought a feed, and asks that each follower gets what is new.
pub async fn arrived(
    txn: &impl ConnectionTrait,
    source: feed_source::Model,
    feed: &Feed,
    validators: Validators,
    now: Timestamp,
) -> Result<(), Error> {
    let body = serde_json::to_string(feed).map_err(Error::internal)?;
    let row = feed_copy::Model { source_id: source.id, body };
    let newer =
        OnConflict::column(feed_copy::Column::SourceId).update_column(feed_copy::Column::Body).to_owned();
    feed_copy::Entity::insert(row.into_active_model()).on_conflict(newer).exec_without_returning(txn).await?;
    offer::keep(txn, source.id, feed, now).await?;
    let interval = schedule::interval(feed, now);
    let mut changed = good(source, interval, now);
    changed.title = Set(feed.title.clone());
    changed.site_url = Set(feed.site_url.clone());
    changed.etag = Set(validators.etag);
    changed.last_modified = Set(validators.last_modified);
    changed.update(txn).await?;
    Ok(())
}

/// Writes down a fetch that brought nothing new: the next one comes a little later than this one did.
pub async fn unchanged(
    txn: &impl ConnectionTrait,
    source: feed_source::Model,
    copy: &Feed,
    now: Timestamp,
) -> Result<(), Error> {
    let interval = schedule::interval(copy, now);
    good(source, interval, now).update(txn).await?;
    Ok(())
}

fn good(source: feed_source::Model, interval: Duration, now: Timestamp) -> feed_source::ActiveModel {
    let next = now + schedule::spread(source.id, interval);
    let mut changed = source.into_active_model();
    changed.fetched_at = Set(Some(now));
    changed.next_fetch_at = Set(Some(next));
    changed.wait_until = Set(None);
    changed.interval_seconds = Set(i64::try_from(interval.as_secs()).unwrap_or(FIRST_INTERVAL));
    changed.failures = Set(0);
    changed.error = Set(None);
    changed
}

/// How a fetch failed.
#[derive(Debug)]
pub struct Fault {
    /// For people, without any part of an address.
    pub reason: String,
    /// Its server asks not to be asked again before that.
    pub wait: Option<Duration>,
    /// Its server says that it is gone for good: it is not fetched again unless somebody asks.
    pub gone: bool,
}

/// Writes down a fetch that failed; what was there before stays.
pub async fn failed(
    txn: &impl ConnectionTrait,
    source: feed_source::Model,
    fault: Fault,
    now: Timestamp,
) -> Result<(), Error> {
    let failures = source.failures.saturating_add(1);
    let wait = schedule::spread(source.id, schedule::after_failure(failures, fault.wait));
    let mut changed = source.into_active_model();
    changed.next_fetch_at = Set((!fault.gone).then_some(now + wait));
    changed.wait_until = Set(fault.wait.map(|asked| now + asked));
    changed.failures = Set(failures);
    changed.error = Set(Some(fault.reason));
    changed.update(txn).await?;
    Ok(())
}

/// The next fetch is due by then: something came up since the last one began.
pub async fn fetch_by(
    txn: &impl ConnectionTrait,
    source: FeedSourceId,
    time: Timestamp,
) -> Result<(), Error> {
    feed_source::Entity::update_many()
        .col_expr(feed_source::Column::NextFetchAt, Expr::value(Some(time)))
        .filter(feed_source::Column::Id.eq(source))
        .filter(feed_source::Column::NextFetchAt.gt(time))
        .exec(txn)
        .await?;
    Ok(())
}

/// Asks that followers get what is new: `first` before everybody else.
pub async fn ask_deliveries(
    txn: &impl ConnectionTrait,
    source: FeedSourceId,
    first: Option<UserId>,
    now: Timestamp,
) -> Result<(), Error> {
    deliver_to(txn, feed::Entity::followers_of(source).all(txn).await?, first, now).await
}

async fn deliver_to(
    txn: &impl ConnectionTrait,
    followers: Vec<feed::Model>,
    first: Option<UserId>,
    now: Timestamp,
) -> Result<(), Error> {
    for follower in followers {
        let priority = if first == Some(follower.user_id) { Priority::Now } else { Priority::Backlog };
        jobs::enqueue(txn, follower.user_id, JobKind::DeliverEntries, follower.id.0, priority, now).await?;
    }
    Ok(())
}

/// The address has moved for good. Where the new one is a source already its followers become one; who follows both keeps
/// both. The transaction holds the counts of all followers ([`crate::owned_transaction::begin_owned_by_followers`]).
pub async fn moved(
    txn: &impl ConnectionTrait,
    source: &feed_source::Model,
    to: &PageUrl,
    now: Timestamp,
) -> Result<feed_source::Model, Error> {
    let address = to.normalized();
    let followers = feed::Entity::update_many()
        .col_expr(feed::Column::Url, Expr::value(to.as_str()))
        .filter(feed::Column::SourceId.eq(source.id));
    match with_address(txn, &address).await? {
        Some(there) if there.id == source.id => {}
        Some(there) => {
            let both = Query::select()
                .column(feed::Column::UserId)
                .from(feed::Entity)
                .and_where(feed::Column::SourceId.eq(there.id))
                .to_owned();
            let new = feed::Entity::followers_of(source.id);
            let new = new.filter(feed::Column::UserId.not_in_subquery(both)).all(txn).await?;
            if !new.is_empty() {
                let ids = new.iter().map(|follower| follower.id);
                let followers = followers.col_expr(feed::Column::SourceId, Expr::value(there.id));
                followers.filter(feed::Column::Id.is_in(ids)).exec(txn).await?;
                // A fetch may say that nothing is new there, but to new followers everything is.
                deliver_to(txn, new, None, now).await?;
                let mut due = there.into_active_model();
                due.next_fetch_at = Set(Some(now));
                due.update(txn).await?;
            }
        }
        None => {
            followers.exec(txn).await?;
            let mut changed = source.clone().into_active_model();
            changed.url = Set(address);
            return Ok(changed.update(txn).await?);
        }
    }
    Ok(source.clone())
}

/// Removes the sources without followers, with their copies. A source that is being followed at this moment is locked: it is
/// skipped, because waiting for it while holding others could end in a deadlock.
pub async fn sweep(db: &impl ConnectionTrait) -> Result<(), Error> {
    let followed = Query::select().column(feed::Column::SourceId).from(feed::Entity).to_owned();
    let left = Query::select()
        .column(feed_source::Column::Id)
        .from(feed_source::Entity)
        .and_where(feed_source::Column::Id.not_in_subquery(followed))
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
        .to_owned();
    feed_source::Entity::delete_many().filter(feed_source::Column::Id.in_subquery(left)).exec(db).await?;
    Ok(())
}
