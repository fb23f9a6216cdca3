//! Fetches a URL once and parses the feed there in the sandbox.

use concurrency::Lane;
use errors::Error;
use library::feeds::source::Validators;
use parse::feed::{Feed, FeedDocument, FeedLink};
use sandbox::SandboxError;
use web::{FetchError, FetchRequest, FetchedPage, PageUrl};

use super::context::FeedContext;
use super::websub::link_header;

/// Maximum length of a feed in decompressed bytes (row P4).
const MAX_FEED_BYTES: u64 = 5 << 20;
/// Bytes at the beginning of an XML document that are searched for its encoding.
const XML_DECLARATION_BYTES: usize = 200;

/// The message for a feed that is malformed beyond repair.
pub(super) const MALFORMED_FEED: &str = "the feed at this URL is malformed and cannot be read";

/// The content that the URL of a feed, or of a page, returned.
#[derive(Debug)]
pub(super) enum FetchedContent {
    /// The copy is still current: the server returned 304.
    Unchanged,
    /// A feed and its validators.
    Feed(Box<Feed>, Validators),
    /// Something else, and the feeds to which it links.
    Page(Vec<FeedLink>),
    /// A feed that is malformed beyond repair.
    Malformed,
}

/// The content that a URL returned, with the URL that returned it.
#[derive(Debug)]
pub(super) struct FetchedUrl {
    /// The content of the response.
    pub content: FetchedContent,
    /// The URL that responded, after redirects.
    pub url: PageUrl,
    /// Whether every redirect was permanent, so that the feed has moved to `url`.
    pub has_moved: bool,
}

/// Why a feed was not fetched. The messages contain no part of a URL.
#[derive(Debug, thiserror::Error)]
pub(super) enum FeedFetchError {
    /// The request failed, or its response is incomplete or too large.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The sandbox failed to parse the response.
    #[error("the feed could not be read: {0}")]
    Sandbox(#[from] SandboxError),
    /// The server itself failed, for example because its worker threads are busy.
    #[error("the feed could not be read: an internal error occurred")]
    Internal(#[from] Error),
}

/// Fetches a URL. With validators the server returns the feed only if it changed.
pub(super) async fn fetch(
    ctx: &FeedContext,
    url: &PageUrl,
    validators: Validators,
) -> Result<FetchedUrl, FeedFetchError> {
    let request = FetchRequest {
        if_none_match: validators.etag,
        if_modified_since: validators.last_modified,
        max_bytes: Some(MAX_FEED_BYTES),
        ..FetchRequest::feed()
    };
    let fetched = ctx.fetcher.get(url, request).await?;
    let (url, has_moved) = (fetched.url.clone(), fetched.redirected_permanently);
    if fetched.is_unchanged() {
        return Ok(FetchedUrl { content: FetchedContent::Unchanged, url, has_moved });
    }
    let validators = Validators {
        etag: fetched.headers.etag.clone(),
        last_modified: fetched.headers.last_modified.clone(),
    };
    let links = fetched.headers.link.clone();
    let workers = &ctx.core.workers;
    let bytes = workers.run(Lane::Background, move || document_bytes(fetched)).await.map_err(Error::from)?;
    let content = match ctx.sandbox.read_feed(&bytes, url.as_str().to_owned()).await? {
        FeedDocument::Feed(mut feed) => {
            link_header::apply(&mut feed, &links, &url);
            FetchedContent::Feed(feed, validators)
        }
        FeedDocument::Page(links) => FetchedContent::Page(links),
        FeedDocument::Malformed => FetchedContent::Malformed,
    };
    Ok(FetchedUrl { content, url, has_moved })
}

/// Returns the bytes for the parser.
fn document_bytes(fetched: FetchedPage) -> Vec<u8> {
    // XML names its own encoding, which the parser knows. A document that names none and is not UTF-8 is decoded like a page.
    let head = fetched.body.get(..XML_DECLARATION_BYTES).unwrap_or(&fetched.body);
    let names_encoding = head.windows(9).any(|window| window == b"encoding=");
    // Such a document is UTF-16, whose declaration is not found by its bytes.
    let has_byte_order_mark = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if names_encoding || has_byte_order_mark || std::str::from_utf8(&fetched.body).is_ok() {
        return fetched.body;
    }
    fetched.text().into_bytes()
}
