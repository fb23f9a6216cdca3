//! Listing and showing feeds.

use entity::feed;
use entity::id::FeedId;
use entity::scope::Scope;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;

use super::view::{self, FeedResponse, FeedView};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::operations::page::{CURSOR, PageOf};
use crate::operations::target::Target;
use crate::pipeline::Operation;

const DEFAULT_LIMIT: u64 = 50;

/// A page of feeds.
#[derive(Debug)]
pub struct ListFeeds(PageOf);

impl ListFeeds {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        CURSOR,
        Field::optional("limit", Kind::Integer { min: 1, max: 100 }, "Maximum number of feeds. Default 50."),
    ];

    /// Reads the parameters.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self(PageOf::read(&mut values, DEFAULT_LIMIT)))
    }
}

/// A page of feeds, in the order in which they were followed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListFeedsResponse {
    feeds: Vec<FeedView>,
    next_cursor: Option<String>,
}

impl Operation for ListFeeds {
    type Reply = ListFeedsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];

    fn count(reply: &ListFeedsResponse) -> Option<usize> {
        Some(reply.feeds.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListFeedsResponse, Error> {
        let after: Option<FeedId> = self.0.position(ctx, caller.user, "feeds")?;
        let mut query = feed::Entity::owned_by(caller.user).order_by_asc(feed::Column::Id);
        if let Some(after) = after {
            query = query.filter(feed::Column::Id.gt(after));
        }
        let mut rows = query.limit(self.0.limit + 1).all(ctx.core.db.read()).await?;
        let next_cursor = self.0.cut(ctx, caller.user, "feeds", &mut rows, |row| row.id);
        Ok(ListFeedsResponse { feeds: view::many(ctx.core.db.read(), caller.user, rows).await?, next_cursor })
    }
}

/// One feed.
#[derive(Debug)]
pub struct ShowFeed(FeedId);

impl ShowFeed {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowFeed {
    type Reply = FeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FeedResponse, Error> {
        let found = feed::Entity::one_of(caller.user, self.0).one(ctx.core.db.read()).await?;
        Ok(FeedResponse { feed: view::one(ctx.core.db.read(), found.ok_or(Error::not_found())?).await? })
    }
}
