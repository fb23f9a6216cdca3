//! Leaving a feed: its entries go with it, and their documents but those that are bookmarked.

use entity::id::{FeedId, UserId};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{document, feed};
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use serde::Serialize;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use library::feeds::saved;
use crate::ingest::media::place;
use jobs::{Priority, JobKind};
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Which is left.
#[derive(Debug)]
pub struct UnfollowFeed(FeedId);

impl UnfollowFeed {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The feed is no longer followed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnfollowFeedResponse {}

impl Operation for UnfollowFeed {
    type Reply = UnfollowFeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<UnfollowFeedResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        leave(&txn, caller.user, self.0, ctx.core.clock.now()).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(UnfollowFeedResponse {})
    }
}

/// Leaves a feed, within a transaction.
///
/// # Errors
/// [`Error::NotFound`] where it is not followed.
pub async fn leave(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: FeedId,
    now: Timestamp,
) -> Result<(), Error> {
    // The feed goes first: entries that are being delivered to it are in by then, or never will be.
    let held = feed::Entity::one_of(user, id).lock_exclusive().one(txn).await?;
    held.ok_or(Error::not_found())?;
    place::keep_of_feed(txn, user, id).await?;
    feed::Entity::delete_many()
        .filter(feed::Column::UserId.eq(user))
        .filter(feed::Column::Id.eq(id))
        .exec(txn)
        .await?;
    // Whoever saves one of its entries now has done so before the bookmarks are looked at, or comes after this.
    let texts = document::Entity::of(user).filter(document::Column::FeedId.eq(id));
    texts
        .select_only()
        .column(document::Column::Id)
        .lock_exclusive()
        .into_tuple::<uuid::Uuid>()
        .all(txn)
        .await?;
    saved::keep_bookmarked(txn, user, id, now).await?;
    document::Entity::update_many()
        .col_expr(document::Column::HiddenAt, Expr::value(Some(now)))
        .col_expr(document::Column::EntryId, Expr::value(None::<uuid::Uuid>))
        .filter(document::Column::UserId.eq(user))
        .filter(document::Column::FeedId.eq(id))
        .exec(txn)
        .await?;
    jobs::enqueue(txn, user, JobKind::ForgetFeed, id.0, Priority::Now, now).await?;
    Ok(())
}
