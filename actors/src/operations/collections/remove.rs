//! Deletes a collection. Its bookmarks stay; collections nested in it become top-level ones.

use entity::{bookmark, collection, collection_bookmark};
use schemars::JsonSchema;
use sea_orm::sea_query::{LockType, Query};
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::CollectionId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::bookmarks;
use library::owned_transaction::begin_request;
use validation::NoFields;

/// Deletes a collection of the user; its bookmarks stay in the library.
#[derive(Debug)]
pub struct DeleteCollection(CollectionId);

impl FromRequest for DeleteCollection {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The collection was deleted; its bookmarks are in the library.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteCollectionResponse {}

impl Operation for DeleteCollection {
    type Reply = DeleteCollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteCollectionResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        // The strongest lock: it waits for requests that put a bookmark or a collection into this one under weaker locks.
        let found = collection::Entity::one_of(caller.user, self.0).lock(LockType::Update);
        found.one(&txn).await?.ok_or(Error::not_found())?;
        let ids = Query::select()
            .column(collection_bookmark::Column::BookmarkId)
            .from(collection_bookmark::Entity)
            .and_where(collection_bookmark::Column::CollectionId.eq(self.0))
            .to_owned();
        let members =
            bookmark::Entity::with_deleted(caller.user).filter(bookmark::Column::Id.in_subquery(ids));
        let members = bookmarks::lock(&txn, members).await?;
        bookmarks::touch_many(&txn, caller.user, &members, ctx.core.clock.now()).await?;
        // The index is not updated: no search can name the collection any more, and the next update of a bookmark's labels
        // drops it.
        // The foreign keys delete the memberships and move nested collections to the top level.
        collection::Entity::delete_owned(caller.user)
            .filter(collection::Column::Id.eq(self.0))
            .exec(&txn)
            .await?;
        txn.commit().await?;
        Ok(DeleteCollectionResponse {})
    }
}
