//! One fetch of a feed's address, read in the sandbox.

use parse::feed::{Feed, FeedDocument, FeedLink};
use runtime::Lane;
use sandbox::SandboxError;
use web::{FetchError, FetchRequest, FetchedPage, PageUrl};

use super::push::offer;
use crate::ingest::context::IngestContext;
use errors::Error;

/// No feed is longer (faults-and-threats.md, P4).
const MOST_BYTES: u64 = 5 << 20;

/// By what a server tells whether something changed.
#[derive(Clone, Debug, Default)]
pub struct Validators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`.
    pub last_modified: Option<String>,
}

/// What came.
#[derive(Debug)]
pub enum Brought {
    /// What was there before is still right.
    Unchanged,
    /// A feed, and its validators.
    Feed(Box<Feed>, Validators),
    /// Something else, and the feeds that it names.
    Page(Vec<FeedLink>),
    /// A feed that cannot be read.
    Broken,
}

/// What came, and from where.
#[derive(Debug)]
pub struct Answer {
    /// What.
    pub brought: Brought,
    /// The address that answered, after redirects.
    pub from: PageUrl,
    /// Every redirect to there was permanent: the address has moved.
    pub moved: bool,
}

/// Why a feed was not fetched. The messages contain no part of a URL.
#[derive(Debug, thiserror::Error)]
pub enum Unfetched {
    /// It was not fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It could not be read.
    #[error("the feed could not be read: {0}")]
    Sandbox(#[from] SandboxError),
    /// Something inside.
    #[error("the feed could not be read: an internal error occurred")]
    Inside(#[from] Error),
}

/// Fetches an address; with validators only if it changed.
pub async fn fetch(ctx: &IngestContext, url: &PageUrl, validators: Validators) -> Result<Answer, Unfetched> {
    let request = FetchRequest {
        if_none_match: validators.etag,
        if_modified_since: validators.last_modified,
        max_bytes: Some(MOST_BYTES),
        ..FetchRequest::feed()
    };
    let fetched = ctx.fetcher.get(url, request).await?;
    let (from, moved) = (fetched.url.clone(), fetched.redirected_permanently);
    if fetched.is_unchanged() {
        return Ok(Answer { brought: Brought::Unchanged, from, moved });
    }
    let validators = Validators {
        etag: fetched.headers.etag.clone(),
        last_modified: fetched.headers.last_modified.clone(),
    };
    let links = fetched.headers.link.clone();
    let bytes = ctx.core.workers.run(Lane::Background, move || bytes(fetched)).await.map_err(Error::from)?;
    let brought = match ctx.sandbox.read_feed(&bytes, from.as_str().to_owned()).await? {
        FeedDocument::Feed(mut feed) => {
            offer::by_headers(&mut feed, &links, &from);
            Brought::Feed(feed, validators)
        }
        FeedDocument::Page(links) => Brought::Page(links),
        FeedDocument::Malformed => Brought::Broken,
    };
    Ok(Answer { brought, from, moved })
}

/// XML says its encoding itself. What says none and is no UTF-8 is decoded like a page.
fn bytes(fetched: FetchedPage) -> Vec<u8> {
    let head = fetched.body.get(..200).unwrap_or(&fetched.body);
    let says = head.windows(9).any(|window| window == b"encoding=");
    let has_mark = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if says || has_mark || std::str::from_utf8(&fetched.body).is_ok() {
        return fetched.body;
    }
    fetched.text().into_bytes()
}
