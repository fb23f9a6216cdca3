//! Follows a feed (contract.md, section 6: POST /feeds).

use concurrency::Lane;
use entity::scope::Scope;
use errors::{Error, code};
use library::feeds::{self, NewFeed};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use serde::Serialize;
use validation::{Flag, UrlText, request};

use super::fields::{FeedName, trim_name};
use super::view::{self, FeedView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::ingest::feed::deliver;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// The URL of the feed, and what the follower sets.
#[derive(Debug)]
pub struct FollowFeed {
    url: String,
    title: Option<String>,
    folder: Option<String>,
    full_text: bool,
}

request! {
    /// A feed to follow.
    pub struct FollowFeedRequest {
        /// URL of a feed, or of a page that links to one.
        pub url: UrlText,
        /// A title that replaces the feed's own.
        pub title?: FeedName,
        /// The folder of the feed.
        pub folder?: FeedName,
        /// Whether to fetch the page of an entry if the feed contains only a summary. Default `false`.
        pub full_text?: Flag,
    }
}

impl FromRequest for FollowFeed {
    type Request = FollowFeedRequest;

    fn from_request(_: &Target, request: FollowFeedRequest) -> Result<Self, Error> {
        Ok(Self {
            url: request.url.into_inner(),
            title: request.title.and_then(trim_name),
            folder: request.folder.and_then(trim_name),
            full_text: request.full_text.is_some_and(Flag::into_inner),
        })
    }
}

/// The followed feed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FollowFeedResponse {
    feed: FeedView,
    /// `false`: it was followed already.
    #[serde(skip)]
    pub created: bool,
}

impl Operation for FollowFeed {
    type Reply = FollowFeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED, code::FEED_NOT_FOUND];

    fn has_created(reply: &FollowFeedResponse) -> bool {
        reply.created
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FollowFeedResponse, Error> {
        let (user, owner) = (caller.user, caller.owner());
        let url = feeds::parse_url(&self.url)?;
        if let Some(row) = feeds::find_followed(ctx.core.db.read(), user, &url).await? {
            let feed = view::load_one(ctx.core.db.read(), row).await?;
            return Ok(FollowFeedResponse { feed, created: false });
        }
        let search = ctx.feed_searches.find_feed(&ctx.feeds, user, url).await?;
        let (feed, feed_url) = (search.found.feed.clone(), search.found.url.as_str().to_owned());
        let prepare = move || deliver::prepare_entries(feed, &feed_url);
        let incoming = ctx.core.workers.run(Lane::Foreground, prepare).await?;
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &owner).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &owner).await?;
        let found = &search.found;
        let Self { title, folder, full_text, .. } = self;
        let new = NewFeed { user, url: &found.url, title, folder, full_text };
        let (row, created) = feeds::follow_found(&txn, new, &found.feed, found.fetched.clone(), now).await?;
        if created {
            room.must_fit(0)?;
            deliver::deliver_entries(&txn, &row, incoming, now).await?;
            room.must_hold(&txn).await?;
        }
        let feed = view::load_one(&txn, row).await?;
        txn.commit().await?;
        search.end_stored();
        ctx.job_signal.notify();
        Ok(FollowFeedResponse { feed, created })
    }
}
