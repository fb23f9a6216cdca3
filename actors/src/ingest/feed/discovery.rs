//! Finds the feed that a user means by a URL: the one at the URL itself, one to which the page there links, or one at a common
//! path of the site.

use std::sync::Arc;
use std::time::Duration;

use concurrency::Lane;
use entity::feed_source;
use errors::{Error, FeedFault};
use library::feeds::source::{self, Validators};
use parse::feed::{Feed, FeedLink};
use web::{FetchError, PageUrl};

use super::context::FeedContext;
use super::fetch::{self, FeedFetchError, FetchedContent, FetchedUrl};
use super::stored_copy::load_copy;

/// Longest search. A user waits for it.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(25);
/// A copy younger than this serves another follower without a request; an older one is revalidated.
const MAX_COPY_AGE: Duration = Duration::from_secs(60);
/// Links of a page that are tried, one after another.
const MAX_TRIED_LINKS: usize = 4;
/// Common paths of feeds, relative to a page or to the root of its site.
const COMMON_PATHS: &[&str] = &["feed", "feed.xml", "rss.xml", "atom.xml", "index.xml", "rss", "feed.json"];

/// A feed that can be followed.
#[derive(Clone, Debug)]
pub struct DiscoveredFeed {
    /// The URL of the feed; after permanent redirects the new one.
    pub url: PageUrl,
    /// The content of the feed, fetched now or from the copy of its source.
    pub feed: Feed,
    /// Its validators, if this search fetched it; `None` if the source's copy is current.
    pub fetched: Option<Validators>,
}

enum FeedOrPage {
    Feed(Box<DiscoveredFeed>),
    Page(PageUrl, Vec<FeedLink>),
}

/// Finds the feed at a URL, or the first one with entries to which the page there links. Common paths are not tried: the user
/// would follow a feed that they did not ask for.
///
/// # Errors
/// [`Error::FeedNotFound`] when there is none, it has no entries, or the search takes too long; [`Error::UrlRejected`] when the
/// URL may not be fetched.
pub async fn find_feed(ctx: &FeedContext, url: PageUrl) -> Result<DiscoveredFeed, Error> {
    with_timeout(async {
        let links = match fetch_feed_or_page(ctx, &url).await? {
            FeedOrPage::Feed(found) => return require_entries(*found),
            FeedOrPage::Page(_, links) => links,
        };
        find_first(ctx, linked_urls(&links).into_iter().take(MAX_TRIED_LINKS)).await
    })
    .await
}

/// Lists the feeds of a URL: the one at the URL itself, else those to which the page there links,
/// else the first at a common path.
///
/// # Errors
/// The same errors as [`find_feed`].
pub async fn list_candidates(ctx: &FeedContext, url: PageUrl) -> Result<Vec<FeedLink>, Error> {
    with_timeout(async {
        let (page, links) = match fetch_feed_or_page(ctx, &url).await? {
            FeedOrPage::Feed(found) => return Ok(vec![link_to(require_entries(*found)?)]),
            FeedOrPage::Page(page, links) => (page, links),
        };
        if !links.is_empty() {
            return Ok(links);
        }
        find_first(ctx, common_urls(&page)).await.map(|found| vec![link_to(found)])
    })
    .await
}

/// Returns the first feed with entries among these URLs.
async fn find_first(
    ctx: &FeedContext,
    urls: impl IntoIterator<Item = PageUrl>,
) -> Result<DiscoveredFeed, Error> {
    for url in urls {
        // A user who waits ignores the throttle, except where the host has asked for a delay.
        if ctx.host_throttle.is_backing_off(&url) {
            continue;
        }
        match fetch_feed_or_page(ctx, &url).await {
            Ok(FeedOrPage::Feed(found)) if !found.feed.items.is_empty() => return Ok(*found),
            Ok(FeedOrPage::Feed(_) | FeedOrPage::Page(..))
            | Err(Error::FeedNotFound(_) | Error::UrlRejected { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(FeedFault::NoFeed.into())
}

fn require_entries(found: DiscoveredFeed) -> Result<DiscoveredFeed, Error> {
    if found.feed.items.is_empty() { Err(FeedFault::NoEntries.into()) } else { Ok(found) }
}

fn link_to(found: DiscoveredFeed) -> FeedLink {
    let DiscoveredFeed { url, feed, .. } = found;
    FeedLink { url: url.as_str().to_owned(), title: feed.title, media_type: feed.media_type }
}

async fn with_timeout<T>(search: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = FeedFault::SearchTimeout { seconds: SEARCH_TIMEOUT.as_secs() };
    tokio::time::timeout(SEARCH_TIMEOUT, search).await.unwrap_or_else(|_| Err(late.into()))
}

fn linked_urls(links: &[FeedLink]) -> Vec<PageUrl> {
    links.iter().filter_map(|link| PageUrl::parse(&link.url).ok()).collect()
}

/// Returns the common paths relative to the page, then those at the root of its site.
fn common_urls(page: &PageUrl) -> Vec<PageUrl> {
    let mut urls: Vec<PageUrl> = Vec::new();
    let relative = COMMON_PATHS.iter().map(|path| page.join(path));
    for url in relative.chain(COMMON_PATHS.iter().map(|path| page.join(&format!("/{path}")))).flatten() {
        if !urls.contains(&url) {
            urls.push(url);
        }
    }
    urls
}

/// Returns what is at a URL. The copy of an existing source saves the request, or most of the response.
async fn fetch_feed_or_page(ctx: &FeedContext, url: &PageUrl) -> Result<FeedOrPage, Error> {
    ctx.fetcher.guard().check_url(url)?;
    let source = source::find_by_url(ctx.core.db.read(), &url.normalized()).await?;
    let copy = match &source {
        Some(source) => load_copy(&ctx.core, Lane::Foreground, source.id).await?,
        None => None,
    };
    if let (Some(source), Some(copy)) = (&source, &copy)
        && is_fresh(ctx, source)
    {
        return Ok(unfetched(url, copy.clone()));
    }
    if source.as_ref().is_some_and(|source| source.wait_until > Some(ctx.core.clock.now())) {
        // The server has asked for a delay (`Retry-After`), so the copy is used, whatever its age.
        return Ok(unfetched(url, copy.ok_or(FeedFault::Delayed)?));
    }
    // Without a copy a 304 would leave nothing to read.
    let validators = source.as_ref().filter(|_| copy.is_some()).map(source::validators).unwrap_or_default();
    let fetched = fetch::fetch(ctx, url, validators).await.map_err(|error| {
        if let FeedFetchError::Fetch(error) = &error {
            ctx.host_throttle.record_retry_after(error);
        }
        search_error(error)
    })?;
    let FetchedUrl { content, url: final_url, has_moved } = fetched;
    Ok(match content {
        FetchedContent::Feed(feed, validators) => {
            let url = if has_moved { final_url } else { url.clone() };
            FeedOrPage::Feed(Box::new(DiscoveredFeed { url, feed: *feed, fetched: Some(validators) }))
        }
        FetchedContent::Unchanged => unfetched(url, copy.unwrap_or_default()),
        FetchedContent::Page(links) => FeedOrPage::Page(final_url, links),
        FetchedContent::Malformed => return Err(FeedFault::Malformed.into()),
    })
}

fn unfetched(url: &PageUrl, feed: Feed) -> FeedOrPage {
    FeedOrPage::Feed(Box::new(DiscoveredFeed { url: url.clone(), feed, fetched: None }))
}

fn is_fresh(ctx: &FeedContext, source: &feed_source::Model) -> bool {
    let now = ctx.core.clock.now();
    source.failures == 0 && source.fetched_at.is_some_and(|fetched| now.since(fetched) < MAX_COPY_AGE)
}

fn search_error(error: FeedFetchError) -> Error {
    match error {
        FeedFetchError::Fetch(FetchError::Rejected(rejection)) => rejection.into(),
        FeedFetchError::Internal(error) => error,
        FeedFetchError::Fetch(error) => FeedFault::Fetch(Arc::new(error)).into(),
        FeedFetchError::Sandbox(error) => FeedFault::Unreadable(error.to_string()).into(),
    }
}
