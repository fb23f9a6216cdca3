//! Shows a collection and lists them.

use entity::collection;
use entity::id::CollectionId;
use entity::scope::Scope;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;

use super::view::{self, CollectionResponse, CollectionView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::page::{CURSOR, ListPage, PageRequest};
use crate::operations::target::Target;
use errors::Error;
use validation::{Field, Kind, Values};

const DEFAULT_LIMIT: u64 = 50;

/// The collection to show.
#[derive(Debug)]
pub struct ShowCollection(CollectionId);

impl ShowCollection {
    /// The request has no fields.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowCollection {
    type Reply = CollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadCollections];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CollectionResponse, Error> {
        view::one(ctx.core.db.read(), caller.user, self.0).await
    }
}

/// A page of collections.
#[derive(Debug)]
pub struct ListCollections(PageRequest);

impl ListCollections {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[
        CURSOR,
        Field::optional(
            "limit",
            Kind::Integer { min: 1, max: 100 },
            "Maximum number of collections. Default 50.",
        ),
    ];

    /// Reads the parameters.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self(PageRequest::read(&mut values, DEFAULT_LIMIT)))
    }
}

/// A page of collections, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListCollectionsResponse {
    collections: Vec<CollectionView>,
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
        let list = self.0.of_list(ctx, caller, "collections");
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
