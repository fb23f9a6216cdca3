//! Finds collections by their names.

use entity::collection;
use schemars::JsonSchema;
use sea_orm::{QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use values::scope::Scope;

use super::view::{self, CollectionView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::name_match::name_contains;
use errors::Error;

/// Finds the collections whose names contain a text, nested ones too.
#[derive(Debug)]
pub struct FindCollections {
    /// The text; case does not count.
    pub words: String,
    /// The maximum number of collections.
    pub limit: u64,
}

/// The collections that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindCollectionsResponse {
    /// The collections, sorted by name.
    pub collections: Vec<CollectionView>,
}

impl Operation for FindCollections {
    type Reply = FindCollectionsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadCollections];

    fn count(reply: &FindCollectionsResponse) -> Option<usize> {
        Some(reply.collections.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FindCollectionsResponse, Error> {
        use collection::Column as C;
        let found = collection::Entity::owned_by(caller.user)
            .filter(name_contains(C::Name, &self.words))
            .order_by_asc(C::Name)
            .order_by_asc(C::Id)
            .limit(self.limit);
        let collections = view::select_views(found).all(ctx.core.db.read()).await?;
        Ok(FindCollectionsResponse { collections })
    }
}
