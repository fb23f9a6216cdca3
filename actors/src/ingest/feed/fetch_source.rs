//! Fetches a source for all users who follow it. If the fetch fails, the job succeeds all the same: the failure is recorded in
//! the source, which schedules the next fetch, and the entries stay. So it is if no follower has room for the entries.

use std::collections::HashSet;
use std::time::Duration;

use concurrency::Lane;
use database::Transaction;
use entity::{feed, feed_source, job};
use errors::Error;
use jobs::{JobError, Priority};
use library::feeds::source::{self, FetchFailure, Validators};
use library::library_quota;
use library::owned_transaction::begin_owned_by_followers;
use parse::feed::Feed;
use sandbox::SandboxError;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use values::id::{FeedSourceId, UserId};
use values::time::Timestamp;
use web::{FetchError, PageUrl};

use super::context::FeedContext;
use super::fetch::{self, FeedFetchError, FetchedContent, FetchedUrl, MALFORMED_FEED};
use super::stored_copy::load_copy;
use super::websub_secrets::MIN_PUSH_INTERVAL;
use crate::ingest::fetch_rules::reason_of_url;

/// A copy that grows by this much is stored although no follower may have room for it: the delivery then tells each of them how
/// full the library is.
const UNCHECKED_GROWTH: usize = 16 << 10;

/// Why a source has no new content.
enum NotFetched {
    /// The request failed, or its response could not be read.
    Failed(FeedFetchError),
    /// No library of a follower has room for the entries.
    NoRoom,
}

/// Runs a job of kind [`JobKind::FetchFeed`](jobs::JobKind::FetchFeed).
///
/// # Errors
/// [`JobError::HostBusy`] when the host is being fetched from or asks for no
/// requests, and no user waits; [`JobError::LeaseLost`]; [`JobError::Internal`].
pub async fn run(ctx: &FeedContext, job: &job::Model) -> Result<(), JobError> {
    let id = FeedSourceId(job.subject);
    let now = ctx.core.clock.now();
    let found = feed_source::Entity::find_by_id(id).one(ctx.core.db.read()).await?;
    let Some(source) = found.filter(|source| source.wait_until.is_none_or(|until| until <= now)) else {
        jobs::finish(ctx.core.db.write(), job, now).await?;
        return Ok(());
    };
    // The copy counts in no library. Without this, an account whose library is full could fill the disk with copies.
    if !library_quota::any_follower_has_room(ctx.core.db.read(), &ctx.core, id, 0).await? {
        return store(ctx, job, &source, Err(NotFetched::NoRoom)).await;
    }
    let result = match PageUrl::parse(&source.url) {
        Ok(url) => {
            // A refresh that a user waits for ignores the throttle of the host: only this source's own `wait_until` holds it
            // back.
            let permit = ctx.host_throttle.try_acquire(&url, None);
            if let (Err(wait), Priority::Backlog) = (&permit, Priority::of(job)) {
                return Err(JobError::HostBusy(*wait));
            }
            // Without a copy a 304 would leave nothing to deliver.
            let has_copy = load_copy(&ctx.core, Lane::Background, id).await?.is_some();
            let validators = if has_copy { source::validators(&source) } else { Validators::default() };
            let result = fetch::fetch(ctx, &url, validators).await;
            if let Err(FeedFetchError::Fetch(error)) = &result {
                ctx.host_throttle.record_retry_after(error);
            }
            result
        }
        Err(rejection) => Err(FetchError::Rejected(rejection).into()),
    };
    match result {
        Err(FeedFetchError::Internal(error)) => Err(error.into()),
        Err(FeedFetchError::Sandbox(error @ SandboxError::Unavailable(_))) => {
            Err(Error::internal(error).into())
        }
        Err(error @ (FeedFetchError::Fetch(_) | FeedFetchError::Sandbox(_))) => {
            store(ctx, job, &source, Err(NotFetched::Failed(error))).await
        }
        Ok(response) => {
            let may_store = may_store(ctx, id, &response.content).await?;
            let result = if may_store { Ok(response) } else { Err(NotFetched::NoRoom) };
            store(ctx, job, &source, result).await
        }
    }
}

/// Returns whether the content may replace the source's copy: it is not much larger, or a follower has room for what it adds. Most
/// of the growth of a copy is the text of new entries.
async fn may_store(ctx: &FeedContext, source: FeedSourceId, content: &FetchedContent) -> Result<bool, Error> {
    let FetchedContent::Feed(feed, _) = content else { return Ok(true) };
    let db = ctx.core.db.read();
    let growth = source::copy_growth(db, source, feed).await?;
    Ok(growth <= UNCHECKED_GROWTH
        || library_quota::any_follower_has_room(db, &ctx.core, source, growth).await?)
}

/// Stores the result of a fetch. `fetched` is the row of the source before the fetch.
async fn store(
    ctx: &FeedContext,
    job: &job::Model,
    fetched: &feed_source::Model,
    result: Result<FetchedUrl, NotFetched>,
) -> Result<(), JobError> {
    let now = ctx.core.clock.now();
    // Before the transaction: a large copy takes long to read.
    let copy_interval = match &result {
        Ok(FetchedUrl { content: FetchedContent::Unchanged, .. }) => {
            let copy = load_copy(&ctx.core, Lane::Background, fetched.id).await?.unwrap_or_default();
            Some(source::fetch_interval(&copy, now))
        }
        Ok(_) | Err(_) => None,
    };
    let (txn, locked_users) = begin(ctx, fetched, &result).await?;
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    if let Some(source) = lock_sources(&txn, fetched, &result).await? {
        let times = source.next_fetch_at.zip(fetched.next_fetch_at);
        let was_notified = times.is_some_and(|(now, before)| now < before);
        match result {
            Ok(response) => {
                store_response(&txn, job, source, &locked_users, (response, copy_interval), now).await?;
                if was_notified {
                    // The hub notified during the fetch, so the response may be older than what it announced.
                    source::advance_next_fetch(&txn, fetched.id, now + MIN_PUSH_INTERVAL).await?;
                }
            }
            Err(NotFetched::Failed(error)) => {
                source::record_failure(&txn, source, fetch_failure(&error), now).await?;
            }
            Err(NotFetched::NoRoom) => source::record_no_room(&txn, source, now).await?,
        }
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

/// Locks the source, and the source to whose URL it moved, in the order in which imports lock sources (`library::imports`).
async fn lock_sources(
    txn: &impl ConnectionTrait,
    fetched: &feed_source::Model,
    result: &Result<FetchedUrl, NotFetched>,
) -> Result<Option<feed_source::Model>, Error> {
    let own = feed_source::Entity::find_by_id(fetched.id).lock_exclusive();
    let target_url = match result {
        Ok(FetchedUrl { url, has_moved: true, .. }) => url.normalized(),
        Ok(_) | Err(_) => return Ok(own.one(txn).await?),
    };
    let target =
        feed_source::Entity::find().filter(feed_source::Column::Url.eq(&target_url)).lock_exclusive();
    if target_url < fetched.url {
        target.one(txn).await?;
        return Ok(own.one(txn).await?);
    }
    let source = own.one(txn).await?;
    target.one(txn).await?;
    Ok(source)
}

/// Begins the transaction, and returns the users whose rows of `library_usage` it locks. A move changes the feeds of all
/// followers, and the URLs of feeds count towards their libraries.
async fn begin(
    ctx: &FeedContext,
    source: &feed_source::Model,
    result: &Result<FetchedUrl, NotFetched>,
) -> Result<(Transaction, HashSet<UserId>), Error> {
    match result {
        Ok(response) if response.has_moved => Ok(begin_owned_by_followers(&ctx.core.db, source.id).await?),
        Ok(_) | Err(_) => Ok((ctx.core.db.begin().await?, HashSet::new())),
    }
}

/// Returns whether all followers of the source are among these users. The row of the source is locked and a new feed refers to
/// it, so no user can begin to follow it before the transaction ends.
async fn are_all_followers(
    txn: &impl ConnectionTrait,
    source: FeedSourceId,
    users: &HashSet<UserId>,
) -> Result<bool, Error> {
    let followers = feed::Entity::followers_of(source).select_only().column(feed::Column::UserId);
    let followers: Vec<UserId> = followers.into_tuple().all(txn).await?;
    Ok(followers.iter().all(|follower| users.contains(follower)))
}

async fn store_response(
    txn: &impl ConnectionTrait,
    job: &job::Model,
    row: feed_source::Model,
    locked_users: &HashSet<UserId>,
    (response, copy_interval): (FetchedUrl, Option<Duration>),
    now: Timestamp,
) -> Result<(), Error> {
    let FetchedUrl { content, url, has_moved } = response;
    // If a user began to follow after the rows were locked, the move waits for the next fetch: locking one more row now could
    // end in a deadlock.
    let has_moved = has_moved && are_all_followers(txn, row.id, locked_users).await?;
    let row = match &content {
        FetchedContent::Unchanged | FetchedContent::Feed(..) if has_moved => {
            source::move_to(txn, &row, &url, now).await?
        }
        FetchedContent::Unchanged
        | FetchedContent::Feed(..)
        | FetchedContent::Page(_)
        | FetchedContent::Malformed => row,
    };
    match content {
        FetchedContent::Feed(feed, validators) => {
            let (id, first) = (row.id, (Priority::of(job) == Priority::Now).then_some(job.user_id));
            source::record_feed(txn, row, &feed, validators, now).await?;
            source::enqueue_deliveries(txn, id, first, now).await
        }
        FetchedContent::Unchanged => {
            let interval = copy_interval.unwrap_or_else(|| source::fetch_interval(&Feed::default(), now));
            source::record_unchanged(txn, row, interval, now).await
        }
        FetchedContent::Page(_) => {
            record_unreadable(txn, row, "the URL returns something other than a feed", now).await
        }
        FetchedContent::Malformed => record_unreadable(txn, row, MALFORMED_FEED, now).await,
    }
}

async fn record_unreadable(
    txn: &impl ConnectionTrait,
    row: feed_source::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let failure = FetchFailure { reason: reason.to_owned(), retry_after: None, is_gone: false };
    source::record_failure(txn, row, failure, now).await
}

fn fetch_failure(error: &FeedFetchError) -> FetchFailure {
    let (retry_after, is_gone) = match error {
        FeedFetchError::Fetch(error) => {
            (error.retry_after(), matches!(error, FetchError::Status { status: 410, .. }))
        }
        FeedFetchError::Sandbox(_) | FeedFetchError::Internal(_) => (None, false),
    };
    let reason = match error {
        FeedFetchError::Fetch(error) => reason_of_fetch(error),
        FeedFetchError::Sandbox(_) | FeedFetchError::Internal(_) => error.to_string(),
    };
    FetchFailure { reason, retry_after, is_gone }
}

/// Returns why a feed was not fetched, and what a follower can do if waiting for the next fetch is not enough. The reason of
/// a document has other advice, and has it only when no attempt follows: then the document is not fetched again by itself, and its
/// file can be uploaded instead.
fn reason_of_fetch(error: &FetchError) -> String {
    match error {
        FetchError::Rejected(rejection) => reason_of_url(rejection),
        FetchError::Status { status: 410, .. } => {
            "the server says that the feed is gone for good (status 410)".to_owned()
        }
        FetchError::Status { .. }
        | FetchError::UnknownHost(_)
        | FetchError::Untrusted(_)
        | FetchError::TooManyRedirects
        | FetchError::UnsupportedEncoding => {
            format!("{error}; if this continues, check the URL of the feed")
        }
        FetchError::Timeout(_)
        | FetchError::TooLarge(_)
        | FetchError::Unreachable(_)
        | FetchError::InvalidResponse(_) => error.to_string(),
    }
}
