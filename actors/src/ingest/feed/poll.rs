//! Fetches a source for all who follow it. What goes wrong with the address is the source's to say, never the job's: it
//! moves the schedule, and the entries stay.

use std::collections::HashSet;

use database::Transaction;
use entity::id::{FeedSourceId, UserId};
use entity::{feed, feed_source, job};
use sandbox::SandboxError;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use web::{FetchError, PageUrl};

use super::fetch::{self, Answer, Brought, Unfetched, Validators};
use super::push;
use super::source::{self, Fault};
use crate::ingest::context::IngestContext;
use errors::Error;
use crate::ingest::attempt::JobError;
use jobs::Priority;
use library::owned_transaction::begin_owned_by_followers;

/// Said of an address at which a feed stands that no mend makes readable.
pub const BROKEN: &str = "the feed at this URL is malformed and cannot be read";

/// Runs the job.
pub async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let id = FeedSourceId(job.subject);
    let now = ctx.core.clock.now();
    let found = feed_source::Entity::find_by_id(id).one(ctx.core.db.read()).await?;
    let Some(source) = found.filter(|source| source.wait_until.is_none_or(|until| until <= now)) else {
        jobs::finish(ctx.core.db.write(), job, now).await?;
        return Ok(());
    };
    let answer = match PageUrl::parse(&source.url) {
        Ok(url) => {
            // What somebody waits for is the host's matter only where this feed itself asked to be left alone.
            let permit = ctx.host_throttle.acquire(&url, None);
            if let (Err(wait), Priority::Backlog) = (&permit, Priority::of(job)) {
                return Err(JobError::HostBusy(*wait));
            }
            let has_copy = source::copy(ctx.core.db.read(), id).await?.is_some();
            let validators = if has_copy { source::validators(&source) } else { Validators::default() };
            let answer = fetch::fetch(ctx, &url, validators).await;
            if let Err(Unfetched::Fetch(error)) = &answer {
                ctx.host_throttle.record_retry_after(error);
            }
            answer
        }
        Err(rejection) => Err(FetchError::Rejected(rejection).into()),
    };
    match answer {
        Err(Unfetched::Inside(error)) => Err(error.into()),
        Err(Unfetched::Sandbox(error @ SandboxError::Unavailable(_))) => Err(Error::internal(error).into()),
        Ok(_) | Err(Unfetched::Fetch(_) | Unfetched::Sandbox(_)) => store(ctx, job, &source, answer).await,
    }
}

/// Writes down how the fetch of a source, as it was then, ended.
async fn store(
    ctx: &IngestContext,
    job: &job::Model,
    fetched: &feed_source::Model,
    answer: Result<Answer, Unfetched>,
) -> Result<(), JobError> {
    let now = ctx.core.clock.now();
    let (txn, held) = begin(ctx, fetched, &answer).await?;
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    if let Some(source) = lock_sources(&txn, fetched, &answer).await? {
        let times = source.next_fetch_at.zip(fetched.next_fetch_at);
        let has_hub_called = times.is_some_and(|(now, then)| now < then);
        match answer {
            Ok(answer) => {
                arrived(&txn, job, source, &held, answer, now).await?;
                if has_hub_called {
                    // What its hub announced may not have been there yet when its server was asked.
                    source::fetch_by(&txn, fetched.id, now + push::APART).await?;
                }
            }
            Err(error) => source::failed(&txn, source, fault(&error), now).await?,
        }
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

/// Locks the source, and the one at the address that it moved to, in the order in which imports lock sources
/// (`imports::take`).
async fn lock_sources(
    txn: &impl ConnectionTrait,
    fetched: &feed_source::Model,
    answer: &Result<Answer, Unfetched>,
) -> Result<Option<feed_source::Model>, Error> {
    let own = feed_source::Entity::find_by_id(fetched.id).lock_exclusive();
    let to = match answer {
        Ok(Answer { from, moved: true, .. }) => from.normalized(),
        Ok(_) | Err(_) => return Ok(own.one(txn).await?),
    };
    let other = feed_source::Entity::find().filter(feed_source::Column::Url.eq(&to)).lock_exclusive();
    if to < fetched.url {
        other.one(txn).await?;
        return Ok(own.one(txn).await?);
    }
    let source = own.one(txn).await?;
    other.one(txn).await?;
    Ok(source)
}

/// Begins the transaction; also the users whose counts it holds. A move changes the feeds of all followers, and the addresses of
/// feeds count towards their libraries.
async fn begin(
    ctx: &IngestContext,
    source: &feed_source::Model,
    answer: &Result<Answer, Unfetched>,
) -> Result<(Transaction, HashSet<UserId>), Error> {
    match answer {
        Ok(answer) if answer.moved => Ok(begin_owned_by_followers(&ctx.core.db, source.id).await?),
        Ok(_) | Err(_) => Ok((ctx.core.db.begin().await?, HashSet::new())),
    }
}

/// Whether everybody who follows the source is among these users. The row of the source is locked by then, and a new feed refers
/// to it: nobody begins to follow it before the transaction ends.
async fn are_all_followers(
    txn: &impl ConnectionTrait,
    source: FeedSourceId,
    users: &HashSet<UserId>,
) -> Result<bool, Error> {
    let followers = feed::Entity::followers_of(source).select_only().column(feed::Column::UserId);
    let followers: Vec<UserId> = followers.into_tuple().all(txn).await?;
    Ok(followers.iter().all(|follower| users.contains(follower)))
}

async fn arrived(
    txn: &impl ConnectionTrait,
    job: &job::Model,
    row: feed_source::Model,
    held: &HashSet<UserId>,
    answer: Answer,
    now: entity::time::Timestamp,
) -> Result<(), Error> {
    let Answer { brought, from, moved } = answer;
    // Where somebody began to follow after the counts were locked, the move waits for the next fetch: to lock one more count now
    // could be a deadlock.
    let moved = moved && are_all_followers(txn, row.id, held).await?;
    let row = match &brought {
        Brought::Unchanged | Brought::Feed(..) if moved => source::moved(txn, &row, &from, now).await?,
        Brought::Unchanged | Brought::Feed(..) | Brought::Page(_) | Brought::Broken => row,
    };
    match brought {
        Brought::Feed(feed, validators) => {
            let (id, first) = (row.id, (Priority::of(job) == Priority::Now).then_some(job.user_id));
            source::arrived(txn, row, &feed, validators, now).await?;
            source::ask_deliveries(txn, id, first, now).await
        }
        Brought::Unchanged => {
            let copy = source::copy(txn, row.id).await?.unwrap_or_default();
            source::unchanged(txn, row, &copy, now).await
        }
        other @ (Brought::Page(_) | Brought::Broken) => {
            let is_broken = matches!(other, Brought::Broken);
            let why = if is_broken { BROKEN } else { "the URL returns something other than a feed" };
            let reason = why.to_owned();
            source::failed(txn, row, Fault { reason, wait: None, gone: false }, now).await
        }
    }
}

fn fault(error: &Unfetched) -> Fault {
    let (wait, gone) = match error {
        Unfetched::Fetch(error) => {
            (error.retry_after(), matches!(error, FetchError::Status { status: 410, .. }))
        }
        Unfetched::Sandbox(_) | Unfetched::Inside(_) => (None, false),
    };
    let reason = match error {
        Unfetched::Fetch(FetchError::Rejected(rejection)) => format!("URL_REJECTED: {rejection}"),
        Unfetched::Fetch(_) if gone => {
            "the server says that the feed is gone for good (status 410)".to_owned()
        }
        Unfetched::Fetch(_) | Unfetched::Sandbox(_) | Unfetched::Inside(_) => error.to_string(),
    };
    Fault { reason, wait, gone }
}
