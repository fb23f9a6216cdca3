//! Shows a collection and lists them.

use entity::collection;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use values::id::CollectionId;
use values::scope::Scope;

use super::view::{self, CollectionResponse, CollectionView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::Error;
use validation::{NoFields, request};

const DEFAULT_LIMIT: u64 = 50;

/// Shows one collection with the number of its bookmarks.
#[derive(Debug)]
pub struct ShowCollection(CollectionId);

impl FromRequest for ShowCollection {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowCollection {
    type Reply = CollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadCollections];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CollectionResponse, Error> {
        view::load_view(ctx.core.db.read(), caller.user, self.0).await
    }
}

/// Lists the collections of the user, nested ones too.
#[derive(Debug)]
pub struct ListCollections(PageRequest);

request! {
    /// A page of the collections of the user.
    pub struct ListCollectionsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of collections. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListCollections {
    type Request = ListCollectionsRequest;

    fn from_request(_: &Target, request: ListCollectionsRequest) -> Result<Self, Error> {
        Ok(Self(PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT)))
    }
}

/// A page of collections, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListCollectionsResponse {
    /// The collections of the page.
    pub collections: Vec<CollectionView>,
    /// Cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl Operation for ListCollections {
    type Reply = ListCollectionsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadCollections];

    fn count(reply: &ListCollectionsResponse) -> Option<usize> {
        Some(reply.collections.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListCollectionsResponse, Error> {
        let list = self.0.of_list(ctx, caller, ListName::new("collections"));
        let after: Option<CollectionId> = list.position()?;
        let mut query = collection::Entity::owned_by(caller.user).order_by_asc(collection::Column::Id);
        if let Some(after) = after {
            query = query.filter(collection::Column::Id.gt(after));
        }
        let views = view::select_views(query.limit(list.fetch_limit())).all(ctx.core.db.read()).await?;
        let ListPage { rows, next_cursor } = list.page(views, |view| view.collection_id);
        Ok(ListCollectionsResponse { collections: rows, next_cursor })
    }
}
