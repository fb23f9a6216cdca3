//! Fetches a source for all who follow it. What goes wrong with the address is the source's to say, never the job's: it
//! moves the schedule, and the entries stay.

use entity::id::FeedSourceId;
use entity::{feed, feed_source, job};
use sea_orm::{ConnectionTrait, EntityTrait, QuerySelect};

use super::fetch::{self, Answer, Brought, Unfetched, Validators};
use super::push;
use super::source::{self, Fault};
use crate::adapters::fetch::FetchError;
use crate::adapters::sandbox::SandboxError;
use crate::address::PageUrl;
use crate::app::App;
use crate::db::Transaction;
use crate::error::Error;
use crate::ingest::attempt::Failure;
use crate::ingest::queue::{self, Priority};
use crate::owned_transaction::begin_owned_by_all;

/// Said of an address at which a feed stands that no mend makes readable.
pub const BROKEN: &str = "the feed at this address is broken: it cannot be read";

/// Runs the job.
pub async fn run(app: &App, job: &job::Model) -> Result<(), Failure> {
    let id = FeedSourceId(job.subject);
    let now = app.clock.now();
    let found = feed_source::Entity::find_by_id(id).one(app.db.read()).await?;
    let Some(source) = found.filter(|source| source.wait_until.is_none_or(|until| until <= now)) else {
        queue::finish(app.db.write(), job, now).await?;
        return Ok(());
    };
    let answer = match PageUrl::parse(&source.url) {
        Ok(url) => {
            // What somebody waits for is the host's matter only where this feed itself asked to be left alone.
            let turn = app.hosts.enter(&url, None);
            if let (Err(wait), Priority::Backlog) = (&turn, Priority::of(job)) {
                return Err(Failure::Turn(*wait));
            }
            let has_copy = source::copy(app.db.read(), id).await?.is_some();
            let validators = if has_copy { source::validators(&source) } else { Validators::default() };
            let answer = fetch::fetch(app, &url, validators).await;
            if let Err(Unfetched::Fetch(error)) = &answer {
                app.hosts.heed(error);
            }
            answer
        }
        Err(refusal) => Err(FetchError::Rejected(refusal).into()),
    };
    match answer {
        Err(Unfetched::Inside(error)) => Err(error.into()),
        Err(Unfetched::Sandbox(error @ SandboxError::Unavailable(_))) => Err(Error::internal(error).into()),
        Ok(_) | Err(Unfetched::Fetch(_) | Unfetched::Sandbox(_)) => store(app, job, &source, answer).await,
    }
}

/// Writes down how the fetch of a source, as it was then, ended.
async fn store(
    app: &App,
    job: &job::Model,
    fetched: &feed_source::Model,
    answer: Result<Answer, Unfetched>,
) -> Result<(), Failure> {
    let now = app.clock.now();
    let txn = begin(app, fetched, &answer).await?;
    if !queue::finish(&txn, job, now).await? {
        return Err(Failure::LeaseLost);
    }
    let found = feed_source::Entity::find_by_id(fetched.id).lock_exclusive();
    if let Some(source) = found.one(&txn).await? {
        let times = source.next_fetch_at.zip(fetched.next_fetch_at);
        let has_hub_called = times.is_some_and(|(now, then)| now < then);
        match answer {
            Ok(answer) => {
                arrived(&txn, job, source, answer, now).await?;
                if has_hub_called {
                    // What its hub announced may not have been there yet when its server was asked.
                    source::fetch_by(&txn, fetched.id, now + push::APART).await?;
                }
            }
            Err(error) => source::failed(&txn, source, fault(&error), now).await?,
        }
    }
    txn.commit().await?;
    app.ingest.wake();
    Ok(())
}

/// A move changes the feeds of all followers, and the addresses of feeds count towards their libraries.
async fn begin(
    app: &App,
    source: &feed_source::Model,
    answer: &Result<Answer, Unfetched>,
) -> Result<Transaction, Error> {
    let followers = match answer {
        Ok(answer) if answer.moved => feed::Entity::followers_of(source.id).all(app.db.read()).await?,
        Ok(_) | Err(_) => Vec::new(),
    };
    let users = followers.into_iter().map(|follower| follower.user_id).collect();
    Ok(begin_owned_by_all(&app.db, users).await?)
}

async fn arrived(
    txn: &impl ConnectionTrait,
    job: &job::Model,
    row: feed_source::Model,
    answer: Answer,
    now: entity::time::Timestamp,
) -> Result<(), Error> {
    let Answer { brought, from, moved } = answer;
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
            let why = if is_broken { BROKEN } else { "the address answers with something that is no feed" };
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
        Unfetched::Fetch(FetchError::Rejected(refusal)) => format!("URL_REJECTED: the address {refusal}"),
        Unfetched::Fetch(_) if gone => "the feed is gone for good, its server says (410)".to_owned(),
        Unfetched::Fetch(_) | Unfetched::Sandbox(_) | Unfetched::Inside(_) => format!("the feed {error}"),
    };
    Fault { reason, wait, gone }
}
