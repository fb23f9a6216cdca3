//! Lists the first collections of the top level.

use entity::collection;
use schemars::JsonSchema;
use sea_orm::sea_query::Func;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use values::scope::Scope;

use super::view::{self, CollectionView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use errors::Error;

/// Lists the first collections that are nested in no other.
#[derive(Debug)]
pub struct ListTopCollections {
    /// The maximum number of collections.
    pub limit: u64,
}

/// The first collections of the top level.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListTopCollectionsResponse {
    /// The collections, sorted by name; the case of letters does not count, on SQLite that of ASCII letters.
    pub collections: Vec<CollectionView>,
}

impl Operation for ListTopCollections {
    type Reply = ListTopCollectionsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadCollections];

    fn count(reply: &ListTopCollectionsResponse) -> Option<usize> {
        Some(reply.collections.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListTopCollectionsResponse, Error> {
        use collection::Column as C;
        // The condition and the order of the index `collection_top_level`.
        let top_level = collection::Entity::owned_by(caller.user)
            .filter(C::ParentId.is_null())
            .order_by_asc(Func::lower(C::Name.into_expr()))
            .order_by_asc(C::Id)
            .limit(self.limit);
        let collections = view::select_views(top_level).all(ctx.core.db.read()).await?;
        Ok(ListTopCollectionsResponse { collections })
    }
}
