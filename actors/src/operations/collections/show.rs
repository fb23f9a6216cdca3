//! Showing one collection, and listing them.

use entity::collection;
use entity::id::CollectionId;
use entity::scope::Scope;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;

use super::view::{self, CollectionResponse, CollectionView};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::operations::page::{CURSOR, PageOf};
use crate::operations::target::Target;
use crate::pipeline::Operation;

const DEFAULT_LIMIT: u64 = 50;

/// One collection.
#[derive(Debug)]
pub struct ShowCollection(CollectionId);

impl ShowCollection {
    /// It takes none.
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
pub struct ListCollections(PageOf);

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
        Ok(Self(PageOf::read(&mut values, DEFAULT_LIMIT)))
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
        let after: Option<CollectionId> = self.0.position(ctx, caller.user, "collections")?;
        let mut query = collection::Entity::owned_by(caller.user).order_by_asc(collection::Column::Id);
        if let Some(after) = after {
            query = query.filter(collection::Column::Id.gt(after));
        }
        let mut collections = view::shown(query.limit(self.0.limit + 1)).all(ctx.core.db.read()).await?;
        let next_cursor =
            self.0.cut(ctx, caller.user, "collections", &mut collections, |shown| shown.collection_id);
        Ok(ListCollectionsResponse { collections, next_cursor })
    }
}
