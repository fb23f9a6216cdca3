//! Limits the searches for feeds that users wait for, and lets requests for one URL share a search.
//!
//! A feed that many users follow at the same moment is searched once, and its followers are stored one after another. If all of
//! them searched, its server would be asked by each, and their transactions would wait for each other at the writer (SQLite) or
//! at the row of the source (PostgreSQL) until the last ones run out of time.

use std::time::{Duration, Instant};

use concurrency::{FairPermit, FairSemaphore, KeyedMutex, QUEUE_RETRY_AFTER};
use errors::{Error, FeedFault};
use parse::feed::FeedLink;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;
use values::id::UserId;
use web::PageUrl;

use super::context::FeedContext;
use super::discovery::{self, DiscoveredFeed};

/// Searches that run at the same time. Each may fetch several URLs.
const MAX_SEARCHES: usize = 8;
/// Longest wait for a permit to search.
const MAX_PERMIT_WAIT: Duration = Duration::from_secs(10);
/// Longest wait for earlier requests for the same URL. The first of them may search for 25 seconds; each of the others takes
/// the time of a transaction.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(40);

/// The searches of all users. Clones share them.
#[derive(Clone, Debug)]
pub struct FeedSearches {
    permits: FairSemaphore<UserId>,
    /// Locks of the searches whose result a request waits for or uses, by normalised URL.
    by_url: KeyedMutex<String, Option<FinishedSearch>>,
}

/// The result of a search that has ended, for requests that waited for it.
#[derive(Debug)]
struct FinishedSearch {
    at: Instant,
    /// The feed, or why there is none.
    result: Result<DiscoveredFeed, FeedFault>,
}

/// The feed that a search has found. Other requests for the same URL wait until this is dropped.
#[derive(Debug)]
pub struct SharedSearch {
    /// The feed that was found by this request, or by an earlier one that it waited for.
    pub found: DiscoveredFeed,
    search: OwnedMutexGuard<Option<FinishedSearch>>,
}

impl Default for FeedSearches {
    fn default() -> Self {
        Self { permits: FairSemaphore::new(MAX_SEARCHES, MAX_PERMIT_WAIT), by_url: KeyedMutex::default() }
    }
}

impl FeedSearches {
    /// Waits for the permit to search. Users take turns.
    async fn acquire(&self, user: UserId) -> Result<FairPermit<UserId>, Error> {
        Ok(self.permits.acquire(user).await?)
    }

    /// Lists the feeds of a URL: the one at the URL itself, else those to which the page there links, else the first at a
    /// common path of the site.
    ///
    /// # Errors
    /// [`Error::FeedNotFound`] when there is none, it has no entries, or the search takes too long; [`Error::UrlRejected`] when
    /// the URL may not be fetched; [`Error::Busy`] when too many searches are running.
    pub async fn list_candidates(
        &self,
        ctx: &FeedContext,
        user: UserId,
        url: PageUrl,
    ) -> Result<Vec<FeedLink>, Error> {
        let _permit = self.acquire(user).await?;
        discovery::list_candidates(ctx, url).await
    }

    /// Finds the feed at a URL, or the first one with entries to which the page there links. A request that waited for another
    /// one takes over what that one found meanwhile.
    ///
    /// # Errors
    /// The errors of [`Self::list_candidates`]; [`Error::Busy`] also when the earlier requests for the same URL did not end in time.
    pub async fn find_feed(
        &self,
        ctx: &FeedContext,
        user: UserId,
        url: PageUrl,
    ) -> Result<SharedSearch, Error> {
        let began = Instant::now();
        let search = timeout(MAX_LOCK_WAIT, self.by_url.lock(url.normalized())).await;
        let mut search = search.map_err(|_| Error::Busy(QUEUE_RETRY_AFTER))?;
        // Only a result of a search that ended after this request began: the site may have changed since an older one.
        let shared = search.as_ref().filter(|finished| finished.at >= began);
        let shared = shared.map(|finished| finished.result.clone());
        let result = match shared {
            Some(result) => result,
            None => {
                let permit = self.acquire(user).await?;
                let result = shareable_result(discovery::find_feed(ctx, url).await)?;
                // The permit bounds searches. The transaction that stores the feed follows, and needs only the lock of the URL.
                drop(permit);
                *search = Some(FinishedSearch { at: Instant::now(), result: result.clone() });
                result
            }
        };
        let found = result.map_err(Error::FeedNotFound)?;
        Ok(SharedSearch { found, search })
    }
}

/// Returns what other requests may take over: the feed, or that there is none. Other failures are not
/// shared, because the next search may succeed.
fn shareable_result(
    result: Result<DiscoveredFeed, Error>,
) -> Result<Result<DiscoveredFeed, FeedFault>, Error> {
    match result {
        Ok(found) => Ok(Ok(found)),
        Err(Error::FeedNotFound(fault)) => Ok(Err(fault)),
        Err(error) => Err(error),
    }
}

impl SharedSearch {
    /// Releases the lock of a request that has stored the feed, so that the requests which take it over do not store it again.
    pub fn end_stored(mut self) {
        if let Some(FinishedSearch { result: Ok(found), .. }) = self.search.as_mut() {
            found.fetched = None;
        }
    }
}
