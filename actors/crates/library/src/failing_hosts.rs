//! The hosts from which pages, files and feeds could not be fetched, for the operator: hosts alone, without URLs and without their users.

use std::collections::HashMap;

use entity::{feed, feed_source};
use jobs::{JobKind, Priority};
use sea_orm::sea_query::Expr;
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect, Select};
use values::id::JobId;
use values::time::Timestamp;
use web::PageUrl;

use crate::context::CoreContext;
use crate::failed_jobs::{self, FailedFetch, RetryJobError};
use errors::Error;

/// The latest failed jobs, and the failing feeds, that are looked at.
const MAX_FAILURE_ROWS: u64 = 1_000;
/// Failed jobs of a host that a retry enqueues.
const MAX_RETRIED_JOBS: usize = 200;

/// A host from which something could not be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingHost {
    /// The host, in the form in which it is looked up.
    pub host: String,
    /// Number of pages and files that could not be fetched.
    pub pages: u64,
    /// Number of feeds whose last fetch failed.
    pub feeds: u64,
    /// Why the last attempt failed.
    pub reason: Option<String>,
    /// Time of the first of these failures, or for feeds of the last success; `None` if it is not known.
    pub since: Option<Timestamp>,
    /// Time of the last of these failures, of pages and files.
    pub failed_at: Option<Timestamp>,
}

impl FailingHost {
    fn new(host: &str) -> Self {
        Self { host: host.to_owned(), pages: 0, feeds: 0, reason: None, since: None, failed_at: None }
    }

    fn begin_at(&mut self, at: Option<Timestamp>) {
        self.since = match (self.since, at) {
            (Some(known), Some(at)) => Some(known.min(at)),
            (known, at) => known.or(at),
        };
    }

    /// Adds a failed fetch of a page or a file. The latest comes first.
    fn add_page(&mut self, failed: FailedFetch) {
        self.pages += 1;
        self.begin_at(failed.finished_at);
        self.failed_at = self.failed_at.or(failed.finished_at);
        self.reason = self.reason.take().or(failed.error);
    }

    fn add_feed(&mut self, source: feed_source::Model) {
        self.feeds += 1;
        self.begin_at(source.fetched_at.or(Some(source.created_at)));
        self.reason = self.reason.take().or(source.error);
    }
}

/// How much of a host is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostRetry {
    /// Number of pages and files whose jobs were enqueued.
    pub pages: u64,
    /// Number of feeds whose fetches were enqueued.
    pub feeds: u64,
}

/// Lists the hosts of the latest thousand failed jobs and of a thousand failing feeds, those with the most failures first.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn list(db: &impl ConnectionTrait) -> Result<Vec<FailingHost>, DbErr> {
    let mut hosts: HashMap<String, FailingHost> = HashMap::new();
    for failed in failed_jobs::list_failed_fetches(db, MAX_FAILURE_ROWS).await? {
        let Some(host) = host_of(&failed.url) else { continue };
        hosts.entry(host.clone()).or_insert_with(|| FailingHost::new(&host)).add_page(failed);
    }
    for source in failing_feeds().all(db).await? {
        let Some(host) = host_of(&source.url) else { continue };
        hosts.entry(host.clone()).or_insert_with(|| FailingHost::new(&host)).add_feed(source);
    }
    let mut hosts: Vec<FailingHost> = hosts.into_values().collect();
    let failures = |host: &FailingHost| host.pages + host.feeds;
    hosts.sort_by(|a, b| failures(b).cmp(&failures(a)).then_with(|| a.host.cmp(&b.host)));
    Ok(hosts)
}

/// Enqueues the failed jobs of a host, at most two hundred, and the fetches of its failing feeds.
///
/// # Errors
/// [`Error`] when the database fails. What was enqueued before stays enqueued.
pub async fn retry(core: &CoreContext, host: &str) -> Result<HostRetry, Error> {
    let failed = failed_jobs::list_failed_fetches(core.db.read(), MAX_FAILURE_ROWS).await?;
    let of_host = failed.into_iter().filter(|failed| host_of(&failed.url).as_deref() == Some(host));
    let jobs: Vec<JobId> = of_host.map(|failed| failed.id).take(MAX_RETRIED_JOBS).collect();
    let mut retried = HostRetry::default();
    for job in jobs {
        match failed_jobs::retry_failed_job(core, job).await {
            Ok(()) => retried.pages += 1,
            // Another request retries it, or its document is being processed or was deleted meanwhile.
            Err(
                RetryJobError::UnknownJob
                | RetryJobError::IsImport
                | RetryJobError::IsExport
                | RetryJobError::UnknownKind
                | RetryJobError::Failed(Error::Conflict(_) | Error::NotFound(_)),
            ) => {}
            Err(RetryJobError::Failed(error)) => return Err(error),
        }
    }
    retried.feeds = retry_feeds(core, host).await?;
    Ok(retried)
}

/// Enqueues the fetches of the failing feeds of a host, each for one of the followers, and returns their number.
async fn retry_feeds(core: &CoreContext, host: &str) -> Result<u64, Error> {
    let failing = failing_feeds().all(core.db.read()).await?;
    let mut retried = 0;
    for source in failing.into_iter().filter(|source| host_of(&source.url).as_deref() == Some(host)) {
        let follower = feed::Entity::followers_of(source.id).order_by_asc(feed::Column::Id);
        let Some(follower) = follower.one(core.db.read()).await? else { continue };
        let (user, subject, now) = (follower.user_id, source.id.0, core.clock.now());
        jobs::enqueue(core.db.write(), user, JobKind::FetchFeed, subject, Priority::Now, now).await?;
        retried += 1;
    }
    Ok(retried)
}

/// Selects the feeds whose last fetch failed. The condition is spelled out as in the partial index `feed_source_failing`.
fn failing_feeds() -> Select<feed_source::Entity> {
    feed_source::Entity::find()
        .filter(Expr::cust("feed_source.failures > 0"))
        .order_by_asc(feed_source::Column::Id)
        .limit(MAX_FAILURE_ROWS)
}

/// Returns the host of a URL.
fn host_of(url: &str) -> Option<String> {
    PageUrl::parse(url).ok().map(|url| url.host().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed_fetch(error: &str, millis: i64) -> FailedFetch {
        let at = Timestamp::from_millis(millis);
        let (url, error) = ("https://reeds.example/a".to_owned(), Some(error.to_owned()));
        FailedFetch { id: JobId::new(at), url, error, finished_at: Some(at) }
    }

    #[test]
    fn host_shows_its_last_reason_and_its_first_failure() {
        let mut host = FailingHost::new("reeds.example");

        host.add_page(failed_fetch("the server answered with status 403", 2_000));
        host.add_page(failed_fetch("the server cannot be reached", 1_000));

        assert_eq!(host.reason.as_deref(), Some("the server answered with status 403"));
        assert_eq!(host.since, Some(Timestamp::from_millis(1_000)));
        assert_eq!((host.failed_at, host.pages), (Some(Timestamp::from_millis(2_000)), 2));
    }

    #[test]
    fn host_has_no_part_of_the_path() {
        assert_eq!(host_of("https://Reeds.example/canary?q=1").as_deref(), Some("reeds.example"));
        assert_eq!(host_of("no url"), None);
    }
}
