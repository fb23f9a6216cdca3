//! Follows a feed (contract.md, section 6: POST /feeds).

use concurrency::Lane;
use errors::{Error, code};
use library::feeds::{self, NewFeed};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use serde::Serialize;
use validation::{Flag, UrlText, request};
use values::scope::Scope;

use super::fields::{FeedName, trim_name};
use super::view::{self, FeedView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::ingest::feed::deliver;
use crate::ingest::feed::incoming_entry::prepare_entries;
use crate::operation::{CreatesIfAbsent, FromRequest, Operation};
use crate::target::Target;

/// Follows the feed of a URL, or returns the feed that the user follows already.
#[derive(Debug)]
pub struct FollowFeed {
    url: String,
    title: Option<String>,
    folder: Option<String>,
    full_text: bool,
}

request! {
    /// A feed that the user wants to follow.
    pub struct FollowFeedRequest {
        /// URL of a feed, or of a page that links to one.
        pub url: UrlText,
        /// A title that replaces the feed's own. Default: the feed's own.
        pub title?: FeedName,
        /// Name of the folder in which the feed is listed. Default: none.
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

/// The feed that the user follows, whether it is new or not.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FollowFeedResponse {
    /// The feed that the user follows.
    pub feed: FeedView,
    /// Whether the feed is new to the user, which decides the HTTP status: 201, or 200 if it was followed already.
    #[serde(skip)]
    pub created: bool,
}

impl CreatesIfAbsent for FollowFeed {
    fn has_created(reply: &FollowFeedResponse) -> bool {
        reply.created
    }
}

impl Operation for FollowFeed {
    type Reply = FollowFeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED, code::FEED_NOT_FOUND];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FollowFeedResponse, Error> {
        let (user, owner) = (caller.user, caller.owner());
        let url = feeds::parse_url(&self.url)?;
        if let Some(row) = feeds::find_followed(ctx.core.db.read(), user, &url).await? {
            let feed = view::load_one(ctx.core.db.read(), row).await?;
            return Ok(FollowFeedResponse { feed, created: false });
        }
        // Fetched before the transaction, which must not wait for another server.
        let search = ctx.ingest.feed_searches.find_feed(&ctx.ingest.feeds, user, url).await?;
        let (feed, feed_url) = (search.found.feed.clone(), search.found.url.as_str().to_owned());
        let prepare = move || prepare_entries(feed, &feed_url);
        let incoming = ctx.core.workers.run(Lane::Foreground, prepare).await?;
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &owner).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &owner).await?;
        let found = &search.found;
        let Self { title, folder, full_text, .. } = self;
        let new = NewFeed { user, url: &found.url, title, folder, full_text };
        let (row, created) = feeds::follow_found(&txn, new, &found.feed, found.fetched.clone(), now).await?;
        // Not created: the URL is of a page whose feed is followed already, or another request followed the feed meanwhile.
        if created {
            // Refuses a full library before the entries are written, which would be rolled back.
            room.must_fit(0)?;
            deliver::deliver_entries(&txn, &row, &incoming, now).await?;
            room.must_hold(&txn).await?;
        }
        let feed = view::load_one(&txn, row).await?;
        txn.commit().await?;
        // Only after the commit: requests that wait for this search take over the stored feed.
        search.end_stored();
        ctx.job_signal.notify();
        Ok(FollowFeedResponse { feed, created })
    }
}
