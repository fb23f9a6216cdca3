//! Fetches all feeds of a user now.

use std::collections::HashMap;
use std::time::Duration;

use entity::feed;
use errors::Error;
use jobs::{JobKind, Priority};
use library::feeds::source;
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use sea_orm::QueryOrder;
use serde::Serialize;
use validation::NoFields;
use values::id::FeedSourceId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// A feed that was fetched within this time is not fetched again: its server would answer the same.
const RECENT_FETCH_PERIOD: Duration = Duration::from_secs(5 * 60);
/// Sources that are read with one statement.
const BATCH_ROWS: usize = 500;

/// Enqueues a fetch of each followed feed that was not fetched just now.
#[derive(Debug)]
pub struct RefreshFeeds;

impl FromRequest for RefreshFeeds {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The number of feeds that will be fetched.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefreshFeedsResponse {
    /// Number of feeds whose fetch was enqueued. The others were fetched within the last five minutes.
    pub queued: usize,
}

impl Operation for RefreshFeeds {
    type Reply = RefreshFeedsResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<RefreshFeedsResponse, Error> {
        let now = ctx.core.clock.now();
        let rows = feed::Entity::owned_by(caller.user)
            .order_by_asc(feed::Column::Id)
            .all(ctx.core.db.read())
            .await?;
        let mut sources = HashMap::new();
        for batch in rows.chunks(BATCH_ROWS) {
            let ids = batch.iter().map(|row| row.source_id);
            sources.extend(source::find_many(ctx.core.db.read(), ids).await?);
        }
        let is_due = |id: &FeedSourceId| {
            let tried_at = sources.get(id).and_then(|source| source.tried_at.or(source.fetched_at));
            tried_at.is_none_or(|at| now.since(at) >= RECENT_FETCH_PERIOD)
        };
        let due: Vec<_> = rows.iter().map(|row| row.source_id).filter(is_due).map(|id| id.0).collect();
        let queued = due.len();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        jobs::enqueue_all(&txn, caller.user, JobKind::FetchFeed, due, Priority::Now, now).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(RefreshFeedsResponse { queued })
    }
}
