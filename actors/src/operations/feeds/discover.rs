//! Lists the feeds of a URL before one is followed (contract.md, section 6: POST /feeds/discover).

use errors::{Error, code};
use library::feeds;
use schemars::JsonSchema;
use serde::Serialize;
use validation::{UrlText, request};
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// The URL whose feeds are listed.
#[derive(Debug)]
pub struct DiscoverFeeds(String);

request! {
    /// A URL whose feeds are listed.
    pub struct DiscoverFeedsRequest {
        /// URL of a feed, or of a page that links to feeds.
        pub url: UrlText,
    }
}

impl FromRequest for DiscoverFeeds {
    type Request = DiscoverFeedsRequest;

    fn from_request(_: &Target, request: DiscoverFeedsRequest) -> Result<Self, Error> {
        Ok(Self(request.url.into_inner()))
    }
}

/// The feeds that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiscoverFeedsResponse {
    /// The feeds, in the order in which the page names them.
    pub candidates: Vec<FeedCandidate>,
}

/// A feed that a URL leads to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FeedCandidate {
    /// URL of the feed, to follow it with `POST /feeds`.
    pub url: String,
    /// Title of the feed, or of the link to it; null if there is none.
    pub title: Option<String>,
    /// Media type of the feed, such as `application/rss+xml`.
    #[serde(rename = "type")]
    pub media_type: String,
    /// Whether the user follows the feed already.
    pub followed: bool,
}

impl Operation for DiscoverFeeds {
    type Reply = DiscoverFeedsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];
    const ERRORS: &'static [&'static str] = &[code::FEED_NOT_FOUND];
    // It waits for another server instead.
    const NEEDS_RESPONSE_SLOT: bool = false;

    fn count(reply: &DiscoverFeedsResponse) -> Option<usize> {
        Some(reply.candidates.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DiscoverFeedsResponse, Error> {
        let url = feeds::parse_url(&self.0)?;
        let mut candidates = Vec::new();
        for link in ctx.ingest.feed_searches.list_candidates(&ctx.ingest.feeds, caller.user, url).await? {
            // A page may link to a feed that cannot be followed, such as one with another scheme.
            let Ok(url) = feeds::parse_url(&link.url) else { continue };
            let followed = feeds::find_followed(ctx.core.db.read(), caller.user, &url).await?.is_some();
            candidates.push(FeedCandidate {
                url: link.url,
                title: link.title,
                media_type: link.media_type,
                followed,
            });
        }
        Ok(DiscoverFeedsResponse { candidates })
    }
}
