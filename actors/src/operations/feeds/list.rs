//! Lists and shows feeds.

use entity::feed;
use errors::Error;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use serde::Serialize;
use validation::{NoFields, request};
use values::id::FeedId;
use values::scope::Scope;

use super::view::{self, FeedResponse, FeedView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;

/// Feeds of a page if the request names no limit.
const DEFAULT_LIMIT: u64 = 50;

/// Lists the feeds that the user follows.
#[derive(Debug)]
pub struct ListFeeds(PageRequest);

request! {
    /// A page of the followed feeds.
    pub struct ListFeedsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of feeds. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListFeeds {
    type Request = ListFeedsRequest;

    fn from_request(_: &Target, request: ListFeedsRequest) -> Result<Self, Error> {
        Ok(Self(PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT)))
    }
}

/// A page of feeds, in the order in which they were followed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListFeedsResponse {
    feeds: Vec<FeedView>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl Operation for ListFeeds {
    type Reply = ListFeedsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];

    fn count(reply: &ListFeedsResponse) -> Option<usize> {
        Some(reply.feeds.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListFeedsResponse, Error> {
        let list = self.0.of_list(ctx, caller, ListName::new("feeds"));
        let after: Option<FeedId> = list.position()?;
        let mut query = feed::Entity::owned_by(caller.user).order_by_asc(feed::Column::Id);
        if let Some(after) = after {
            query = query.filter(feed::Column::Id.gt(after));
        }
        let ListPage { rows, next_cursor } = list.fetch(query, |row: &feed::Model| row.id).await?;
        let feeds = view::load_many(ctx.core.db.read(), caller.user, rows).await?;
        Ok(ListFeedsResponse { feeds, next_cursor })
    }
}

/// Shows one feed that the user follows.
#[derive(Debug)]
pub struct ShowFeed(FeedId);

impl FromRequest for ShowFeed {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowFeed {
    type Reply = FeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FeedResponse, Error> {
        let row = feed::Entity::one_of(caller.user, self.0).one(ctx.core.db.read()).await?;
        let feed = view::load_one(ctx.core.db.read(), row.ok_or(Error::not_found())?).await?;
        Ok(FeedResponse { feed })
    }
}
