//! Searches for feeds on behalf of users who wait: how many run at the same time, and how requests for one URL share one.
//!
//! A feed that many follow at the same moment is searched once, and its followers are stored one after another. If all of them
//! searched, its server would be asked by each, and their transactions would wait for each other at the writer (SQLite) or at the
//! row of the source (PostgreSQL) until the last ones run out of time.

use std::time::{Duration, Instant};

use entity::id::UserId;
use runtime::{FairPermit, FairSemaphore, KeyedWeakMap, QUEUE_RETRY_AFTER};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;
use web::PageUrl;

use super::find::{self, Found};
use crate::ingest::context::IngestContext;
use errors::Error;

/// Searches that run at the same time. Each may fetch several URLs.
const MAX_SEARCHES: usize = 8;
/// Longest wait for a permit to search.
const MAX_PERMIT_WAIT: Duration = Duration::from_secs(10);
/// Longest wait for the requests that came before for the same URL. The first of them may search for 25 seconds; the others take
/// the time of a transaction each.
const MAX_TURN_WAIT: Duration = Duration::from_secs(40);

/// The searches of all users. Clones share them.
#[derive(Clone, Debug)]
pub struct FeedSearches {
    permits: FairSemaphore<UserId>,
    /// By normalised URL, those whose result a request waits for or uses.
    by_url: KeyedWeakMap<String, Mutex<Option<FinishedSearch>>>,
}

/// A search that has ended.
#[derive(Debug)]
struct FinishedSearch {
    at: Instant,
    /// The feed, or why there is none.
    result: Result<Found, String>,
}

/// The feed that a search has found. Other requests for the same URL wait until this is dropped.
#[derive(Debug)]
pub struct SharedSearch {
    /// The feed.
    pub found: Found,
    search: OwnedMutexGuard<Option<FinishedSearch>>,
}

impl Default for FeedSearches {
    fn default() -> Self {
        Self { permits: FairSemaphore::new(MAX_SEARCHES, MAX_PERMIT_WAIT), by_url: KeyedWeakMap::default() }
    }
}

impl FeedSearches {
    /// Waits until this user may search, which is until the permit is dropped. Users take turns.
    ///
    /// # Errors
    /// [`Error::Busy`] when no permit became available in time.
    pub async fn acquire(&self, user: UserId) -> Result<FairPermit<UserId>, Error> {
        Ok(self.permits.acquire(user).await?)
    }

    /// Finds the feed at a URL as [`find::find`] does. A request that had to wait for another one takes over what that one found
    /// meanwhile.
    ///
    /// # Errors
    /// As [`find::find`]; [`Error::Busy`] when the requests before this one for the same URL did not end in time.
    pub async fn find(&self, ctx: &IngestContext, user: UserId, url: PageUrl) -> Result<SharedSearch, Error> {
        let began = Instant::now();
        let search = self.by_url.get_or_default(url.normalized());
        let turn = timeout(MAX_TURN_WAIT, search.lock_owned()).await;
        let mut search = turn.map_err(|_| Error::Busy(QUEUE_RETRY_AFTER))?;
        // Not an older result: the site may have changed since.
        let taken_over = search.as_ref().filter(|finished| finished.at >= began);
        let taken_over = taken_over.map(|finished| finished.result.clone());
        let result = match taken_over {
            Some(result) => result,
            None => {
                let result = shareable(find::find(ctx, user, url).await)?;
                *search = Some(FinishedSearch { at: Instant::now(), result: result.clone() });
                result
            }
        };
        let found = result.map_err(Error::FeedNotFound)?;
        Ok(SharedSearch { found, search })
    }
}

/// What other requests may take over: the feed, or that there is none. Other failures may be over when the next one searches.
fn shareable(searched: Result<Found, Error>) -> Result<Result<Found, String>, Error> {
    match searched {
        Ok(found) => Ok(Ok(found)),
        Err(Error::FeedNotFound(reason)) => Ok(Err(reason)),
        Err(error) => Err(error),
    }
}

impl SharedSearch {
    /// Ends the turn of a request that has stored the feed: those that take it over need not store it again.
    pub fn end_stored(mut self) {
        if let Some(FinishedSearch { result: Ok(found), .. }) = self.search.as_mut() {
            found.fetched = None;
        }
    }
}
