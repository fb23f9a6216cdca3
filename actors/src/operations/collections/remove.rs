//! Removing a collection: its bookmarks stay, and so do the collections within it, which then stand in none.

use entity::id::CollectionId;
use entity::scope::Scope;
use entity::{bookmark, collection, collection_bookmark};
use schemars::JsonSchema;
use sea_orm::sea_query::{LockType, Query};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect};
use serde::Serialize;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use library::bookmarks::save;
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Which.
#[derive(Debug)]
pub struct DeleteCollection(CollectionId);

impl DeleteCollection {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The collection was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteCollectionResponse {}

impl Operation for DeleteCollection {
    type Reply = DeleteCollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteCollectionResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let found = collection::Entity::one_of(caller.user, self.0).lock(LockType::Update);
        found.one(&txn).await?.ok_or(Error::not_found())?;
        let filed = Query::select()
            .column(collection_bookmark::Column::BookmarkId)
            .from(collection_bookmark::Entity)
            .and_where(collection_bookmark::Column::CollectionId.eq(self.0))
            .to_owned();
        let filed =
            bookmark::Entity::with_deleted(caller.user).filter(bookmark::Column::Id.in_subquery(filed));
        let filed = save::lock(&txn, filed).await?;
        save::touch_all(&txn, caller.user, &filed, ctx.core.clock.now()).await?;
        // The index is not told: no search can name the collection any more, and a later filing forgets it.
        collection::Entity::delete_many()
            .filter(collection::Column::UserId.eq(caller.user))
            .filter(collection::Column::Id.eq(self.0))
            .exec(&txn)
            .await?;
        txn.commit().await?;
        Ok(DeleteCollectionResponse {})
    }
}
