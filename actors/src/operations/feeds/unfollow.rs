//! Ends following a feed (contract.md, section 6: DELETE /feeds/:id).

use entity::feed;
use errors::Error;
use library::feeds::unfollow;
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use serde::Serialize;
use validation::NoFields;
use values::id::FeedId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Ends following a feed. Its entries are deleted with it, except the texts of entries that are bookmarked.
#[derive(Debug)]
pub struct UnfollowFeed(FeedId);

impl FromRequest for UnfollowFeed {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The feed is no longer followed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnfollowFeedResponse {
    /// The title that replaced the feed's own, with which the web app follows it again.
    #[serde(skip)]
    pub title: Option<String>,
}

impl Operation for UnfollowFeed {
    type Reply = UnfollowFeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<UnfollowFeedResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = feed::Entity::one_of(caller.user, self.0).one(&txn).await?;
        unfollow(&txn, caller.user, self.0, ctx.core.clock.now()).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(UnfollowFeedResponse { title: row.and_then(|row| row.title) })
    }
}
