//! From an address that a person gave to the feed that is meant: the address itself, one that the page there names, or one
//! at a place where many sites have theirs.

use std::time::Duration;

use entity::feed_source;
use entity::id::UserId;
use parse::feed::{Feed, FeedLink};
use web::{FetchError, PageUrl};

use crate::ingest::context::IngestContext;
use errors::Error;
use crate::ingest::feed::fetch::{self, Brought, Unfetched, Validators};
use crate::ingest::feed::poll::BROKEN;
use library::feeds::source;

/// Somebody waits for all of it together.
const PATIENCE: Duration = Duration::from_secs(25);
/// A copy that came a moment ago serves the next follower without a fetch; an older one is asked for what is new.
const FRESH: Duration = Duration::from_secs(60);
/// Feeds of a page that are tried, one after the other.
const TRIED: usize = 4;
/// Where many sites have theirs.
const USUAL: &[&str] = &["feed", "feed.xml", "rss.xml", "atom.xml", "index.xml", "rss", "feed.json"];

/// A feed that can be followed.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its address.
    pub url: PageUrl,
    /// What it holds.
    pub feed: Feed,
    /// Its validators, where it was fetched now; none where its source's copy is still right.
    pub fetched: Option<Validators>,
}

enum Opened {
    Feed(Box<Found>),
    Page(PageUrl, Vec<FeedLink>),
}

/// The feed at an address, or the first that the page there names; one without a single entry is none. No place is guessed:
/// whoever follows a feed gets the one that they meant, or is told that there is none.
pub async fn find(ctx: &IngestContext, user: UserId, url: PageUrl) -> Result<Found, Error> {
    let _permit = ctx.feed_searches.acquire(user).await?;
    within(async {
        let links = match open(ctx, &url).await? {
            Opened::Feed(found) => return with_entries(*found),
            Opened::Page(_, links) => links,
        };
        first(ctx, named(&links).into_iter().take(TRIED)).await
    })
    .await
}

/// The feeds at an address: itself, or those that the page names, or the first at a usual place.
pub async fn candidates(ctx: &IngestContext, user: UserId, url: PageUrl) -> Result<Vec<FeedLink>, Error> {
    let _permit = ctx.feed_searches.acquire(user).await?;
    within(async {
        let (page, links) = match open(ctx, &url).await? {
            Opened::Feed(found) => return Ok(vec![link(with_entries(*found)?)]),
            Opened::Page(page, links) => (page, links),
        };
        if !links.is_empty() {
            return Ok(links);
        }
        first(ctx, usual(&page)).await.map(|found| vec![link(found)])
    })
    .await
}

/// The first of these places where a feed stands.
async fn first(ctx: &IngestContext, places: impl IntoIterator<Item = PageUrl>) -> Result<Found, Error> {
    for place in places {
        if ctx.host_throttle.is_backing_off(&place) {
            continue;
        }
        match open(ctx, &place).await {
            Ok(Opened::Feed(found)) if !found.feed.items.is_empty() => return Ok(*found),
            Ok(Opened::Feed(_) | Opened::Page(..)) | Err(Error::FeedNotFound(_) | Error::UrlRejected(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Err(none())
}

fn with_entries(found: Found) -> Result<Found, Error> {
    let empty = || Error::FeedNotFound("the feed at this URL has no entries".to_owned());
    if found.feed.items.is_empty() { Err(empty()) } else { Ok(found) }
}

fn link(found: Found) -> FeedLink {
    let Found { url, feed, .. } = found;
    FeedLink { url: url.as_str().to_owned(), title: feed.title, media_type: feed.media_type }
}

fn none() -> Error {
    Error::FeedNotFound("the URL is not a feed, and the page there names none".to_owned())
}

async fn within<T>(find: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = || {
        let seconds = PATIENCE.as_secs();
        Error::FeedNotFound(format!("finding the feed took longer than {seconds} seconds; try again later"))
    };
    tokio::time::timeout(PATIENCE, find).await.unwrap_or_else(|_| Err(late()))
}

fn named(links: &[FeedLink]) -> Vec<PageUrl> {
    links.iter().filter_map(|link| PageUrl::parse(&link.url).ok()).collect()
}

/// Beside the page and at the root of its site.
fn usual(page: &PageUrl) -> Vec<PageUrl> {
    let mut places: Vec<PageUrl> = Vec::new();
    let beside = USUAL.iter().map(|name| page.join(name));
    for place in beside.chain(USUAL.iter().map(|name| page.join(&format!("/{name}")))).flatten() {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// What stands at an address. A source that is there already spares the fetch, or most of it.
async fn open(ctx: &IngestContext, url: &PageUrl) -> Result<Opened, Error> {
    ctx.fetcher.guard().check_url(url)?;
    let source = source::with_address(ctx.core.db.read(), &url.normalized()).await?;
    let copy = match &source {
        Some(source) => source::copy(ctx.core.db.read(), source.id).await?,
        None => None,
    };
    if let (Some(source), Some(copy)) = (&source, &copy)
        && is_fresh(source, ctx)
    {
        let found = Found { url: url.clone(), feed: copy.clone(), fetched: None };
        return Ok(Opened::Feed(Box::new(found)));
    }
    if source.as_ref().is_some_and(|source| source.wait_until > Some(ctx.core.clock.now())) {
        // Its server asked to be left alone: what is here is all that there is for now.
        let asked = || {
            Error::FeedNotFound(
                "the server of the feed asks for no requests for a while; try again later".to_owned(),
            )
        };
        let feed = copy.ok_or_else(asked)?;
        return Ok(Opened::Feed(Box::new(Found { url: url.clone(), feed, fetched: None })));
    }
    let validators = source.as_ref().filter(|_| copy.is_some()).map(source::validators).unwrap_or_default();
    let answer = fetch::fetch(ctx, url, validators).await.map_err(|error| {
        if let Unfetched::Fetch(error) = &error {
            ctx.host_throttle.record_retry_after(error);
        }
        refused(error)
    })?;
    let at = if answer.moved { answer.from.clone() } else { url.clone() };
    Ok(match answer.brought {
        Brought::Feed(feed, validators) => {
            Opened::Feed(Box::new(Found { url: at, feed: *feed, fetched: Some(validators) }))
        }
        Brought::Unchanged => {
            let found = Found { url: url.clone(), feed: copy.unwrap_or_default(), fetched: None };
            Opened::Feed(Box::new(found))
        }
        Brought::Page(links) => Opened::Page(answer.from, links),
        Brought::Broken => return Err(Error::FeedNotFound(BROKEN.to_owned())),
    })
}

fn is_fresh(source: &feed_source::Model, ctx: &IngestContext) -> bool {
    let now = ctx.core.clock.now();
    source.failures == 0 && source.fetched_at.is_some_and(|fetched| now.since(fetched) < FRESH)
}

fn refused(error: Unfetched) -> Error {
    match error {
        Unfetched::Fetch(FetchError::Rejected(rejection)) => rejection.into(),
        Unfetched::Inside(error) => error,
        Unfetched::Fetch(error) => Error::FeedNotFound(error.to_string()),
        Unfetched::Sandbox(error) => Error::FeedNotFound(format!("the feed could not be read: {error}")),
    }
}
