//! Putting bookmarks into a collection, and taking them out.

use entity::id::{BookmarkId, CollectionId};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, collection, collection_bookmark};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QuerySelect};
use serde::Serialize;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use crate::operations::bookmarks::relabel;
use library::bookmarks::save;
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Puts a bookmark into a collection; twice is once.
#[derive(Debug)]
pub struct PutIntoCollection(Place);

/// Takes a bookmark out of a collection; it need not be in it.
#[derive(Debug)]
pub struct TakeFromCollection(Place);

#[derive(Debug)]
struct Place {
    collection: CollectionId,
    bookmark: BookmarkId,
}

impl Place {
    fn read(target: &Target) -> Result<Self, Error> {
        Ok(Self { collection: target.id(0)?, bookmark: target.id(1)? })
    }

    /// Both are the caller's own; locked until the transaction ends, the collection first, as whoever removes it does.
    async fn own(&self, txn: &impl ConnectionTrait, caller: &Caller) -> Result<bookmark::Model, Error> {
        let collection = collection::Entity::one_of(caller.user, self.collection).lock(LockType::NoKeyUpdate);
        collection.one(txn).await?.ok_or(Error::not_found())?;
        let bookmark = bookmark::Entity::one_of(caller.user, self.bookmark).lock(LockType::NoKeyUpdate);
        bookmark.one(txn).await?.ok_or(Error::not_found())
    }
}

impl PutIntoCollection {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Place::read(target).map(Self)
    }
}

impl TakeFromCollection {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Place::read(target).map(Self)
    }
}

/// The bookmark is in the collection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PutIntoCollectionResponse {}

impl Operation for PutIntoCollection {
    type Reply = PutIntoCollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<PutIntoCollectionResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let row = self.0.own(&txn, caller).await?;
        save::put_in(&txn, caller.user, self.0.collection, row.id, now).await?;
        changed(&txn, &self.0, &row, now).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(PutIntoCollectionResponse {})
    }
}

/// The bookmark is not in the collection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TakeFromCollectionResponse {}

impl Operation for TakeFromCollection {
    type Reply = TakeFromCollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<TakeFromCollectionResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let row = self.0.own(&txn, caller).await?;
        collection_bookmark::Entity::delete_many()
            .filter(collection_bookmark::Column::UserId.eq(caller.user))
            .filter(collection_bookmark::Column::CollectionId.eq(self.0.collection))
            .filter(collection_bookmark::Column::BookmarkId.eq(self.0.bookmark))
            .exec(&txn)
            .await?;
        changed(&txn, &self.0, &row, now).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(TakeFromCollectionResponse {})
    }
}

/// The collection and the bookmark changed, and the index is told.
async fn changed(
    txn: &impl ConnectionTrait,
    place: &Place,
    row: &bookmark::Model,
    now: Timestamp,
) -> Result<(), Error> {
    collection::Entity::update_many()
        .col_expr(collection::Column::UpdatedAt, Expr::value(now))
        .filter(collection::Column::UserId.eq(row.user_id))
        .filter(collection::Column::Id.eq(place.collection))
        .exec(txn)
        .await?;
    save::touch(txn, row.clone(), now).await?;
    relabel(txn, row, now).await
}
