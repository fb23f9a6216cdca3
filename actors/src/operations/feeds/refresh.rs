//! Fetches a feed now, for all its followers.

use entity::feed;
use errors::{Error, code};
use jobs::{JobKind, Priority};
use library::owned_transaction::begin_request;
use validation::NoFields;
use values::id::FeedId;
use values::scope::Scope;

use super::view::{self, FeedResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Enqueues a fetch of a feed, with priority over scheduled ones.
#[derive(Debug)]
pub struct RefreshFeed(FeedId);

impl FromRequest for RefreshFeed {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for RefreshFeed {
    type Reply = FeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];
    const ERRORS: &'static [&'static str] = &[code::FEED_NOT_FOUND];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FeedResponse, Error> {
        let (user, now) = (caller.user, ctx.core.clock.now());
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = feed::Entity::one_of(user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        jobs::enqueue(&txn, user, JobKind::FetchFeed, row.source_id.0, Priority::Now, now).await?;
        // The fetch delivers only if the feed changed, but an earlier delivery may have failed.
        jobs::enqueue(&txn, user, JobKind::DeliverEntries, row.id.0, Priority::Now, now).await?;
        let feed = view::load_one(&txn, row).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(FeedResponse { feed })
    }
}
