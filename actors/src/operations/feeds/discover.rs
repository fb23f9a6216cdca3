//! Lists the feeds of a URL before one is followed (contract.md, section 6: POST /feeds/discover).

use entity::scope::Scope;
use errors::Error;
use library::feeds;
use schemars::JsonSchema;
use serde::Serialize;
use validation::{Field, Values};

use super::fields;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::target::Target;

/// The URL whose feeds are listed.
#[derive(Debug)]
pub struct DiscoverFeeds(String);

impl DiscoverFeeds {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] =
        &[Field::required("url", fields::URL, "URL of a feed, or of a page that links to feeds.")];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self(values.text("url").unwrap_or_default()))
    }
}

/// The feeds that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DiscoverFeedsResponse {
    candidates: Vec<FeedCandidate>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FeedCandidate {
    url: String,
    title: Option<String>,
    #[serde(rename = "type")]
    media_type: String,
    followed: bool,
}

impl Operation for DiscoverFeeds {
    type Reply = DiscoverFeedsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];
    const TAKES_TURN: bool = false;

    fn count(reply: &DiscoverFeedsResponse) -> Option<usize> {
        Some(reply.candidates.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DiscoverFeedsResponse, Error> {
        let url = feeds::parse_url(&self.0)?;
        let mut candidates = Vec::new();
        for link in ctx.feed_searches.list_candidates(&ctx.feeds, caller.user, url).await? {
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
