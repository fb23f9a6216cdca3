//! Deletes a collection. Its bookmarks stay; collections nested in it become top-level ones.

use entity::{bookmark, collection, collection_bookmark};
use schemars::JsonSchema;
use sea_orm::sea_query::{LockType, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::{CollectionId, UserId};
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::bookmarks::UndoToken;
use crate::target::Target;
use errors::Error;
use library::bookmarks;
use library::owned_transaction::begin_request;
use library::undo::{UNDO_PERIOD, record_collection_deletion};
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
        let row = lock_collection(&txn, caller.user, self.0).await?;
        delete_locked(&txn, &row, ctx.core.clock.now()).await?;
        txn.commit().await?;
        Ok(DeleteCollectionResponse {})
    }
}

/// Deletes a collection of the user so that it can be undone.
#[derive(Debug)]
pub struct DeleteCollectionWithUndo(CollectionId);

impl FromRequest for DeleteCollectionWithUndo {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The collection was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteCollectionWithUndoResponse {
    /// How the deletion is undone.
    pub undo: UndoToken,
}

impl Operation for DeleteCollectionWithUndo {
    type Reply = DeleteCollectionWithUndoResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];
    const NEEDS_SPACE: bool = false;

    async fn run(
        self,
        caller: &Caller,
        ctx: &OperationContext,
    ) -> Result<DeleteCollectionWithUndoResponse, Error> {
        // It holds all memberships of the collection in memory.
        let _permit = ctx.user_slots.batches.acquire(caller.user).await?;
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = lock_collection(&txn, caller.user, self.0).await?;
        let token = record_collection_deletion(&txn, row.clone(), now).await?;
        delete_locked(&txn, &row, now).await?;
        txn.commit().await?;
        Ok(DeleteCollectionWithUndoResponse { undo: UndoToken { token, expires_at: now + UNDO_PERIOD } })
    }
}

/// Locks a collection that is deleted.
async fn lock_collection(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: CollectionId,
) -> Result<collection::Model, Error> {
    // The strongest lock: it waits for requests that put a bookmark or a collection into this one under weaker locks.
    let found = collection::Entity::one_of(user, id).lock(LockType::Update);
    found.one(txn).await?.ok_or(Error::not_found())
}

/// Deletes a collection that the transaction has locked.
async fn delete_locked(
    txn: &impl ConnectionTrait,
    row: &collection::Model,
    now: Timestamp,
) -> Result<(), Error> {
    let ids = Query::select()
        .column(collection_bookmark::Column::BookmarkId)
        .from(collection_bookmark::Entity)
        .and_where(collection_bookmark::Column::CollectionId.eq(row.id))
        .to_owned();
    let members = bookmark::Entity::with_deleted(row.user_id).filter(bookmark::Column::Id.in_subquery(ids));
    let members = bookmarks::lock(txn, members).await?;
    bookmarks::touch_many(txn, row.user_id, &members, now).await?;
    // The index is not updated: no search can name the collection any more, and the next update of a bookmark's labels
    // drops it.
    // The foreign keys delete the memberships and move nested collections to the top level.
    collection::Entity::delete_owned(row.user_id).filter(collection::Column::Id.eq(row.id)).exec(txn).await?;
    Ok(())
}
