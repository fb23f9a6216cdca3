//! Fetching a feed now: it serves everybody who follows it.

use entity::feed;
use entity::id::FeedId;
use entity::scope::Scope;

use super::view::{self, FeedResponse};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use jobs::{Priority, JobKind};
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Which.
#[derive(Debug)]
pub struct RefreshFeed(FeedId);

impl RefreshFeed {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for RefreshFeed {
    type Reply = FeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FeedResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let row = feed::Entity::one_of(caller.user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        jobs::enqueue(&txn, caller.user, JobKind::FetchFeed, row.source_id.0, Priority::Now, now).await?;
        // Nothing may be new there, and yet something of it not have come.
        jobs::enqueue(&txn, caller.user, JobKind::DeliverEntries, row.id.0, Priority::Now, now).await?;
        let feed = view::one(&txn, row).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(FeedResponse { feed })
    }
}
