//! Adds bookmarks to a collection and removes them.

use entity::{bookmark, collection, collection_bookmark};
use schemars::JsonSchema;
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use serde::Serialize;
use values::id::{BookmarkId, CollectionId};
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use library::bookmarks;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::NoFields;

/// Adds a bookmark to a collection, if it is not in it.
#[derive(Debug)]
pub struct PutIntoCollection(Membership);

/// Removes a bookmark from a collection, if it is in it.
#[derive(Debug)]
pub struct TakeFromCollection(Membership);

/// A bookmark of a collection, as the path names it.
#[derive(Debug)]
struct Membership {
    collection: CollectionId,
    bookmark: BookmarkId,
}

impl Membership {
    fn from_target(target: &Target) -> Result<Self, Error> {
        Ok(Self { collection: target.id(0)?, bookmark: target.id(1)? })
    }

    /// Locks collection and bookmark until the transaction ends and returns the bookmark.
    async fn lock(&self, txn: &impl ConnectionTrait, caller: &Caller) -> Result<bookmark::Model, Error> {
        // Lock order: the collection first, as deleting it does.
        let collection = collection::Entity::one_of(caller.user, self.collection).lock(LockType::NoKeyUpdate);
        collection.one(txn).await?.ok_or(Error::not_found())?;
        let bookmark =
            bookmark::Entity::one_visible_to(caller.user, self.bookmark).lock(LockType::NoKeyUpdate);
        bookmark.one(txn).await?.ok_or(Error::not_found())
    }
}

impl FromRequest for PutIntoCollection {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Membership::from_target(target).map(Self)
    }
}

impl FromRequest for TakeFromCollection {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Membership::from_target(target).map(Self)
    }
}

/// The bookmark is in the collection, whether it was in it before or not.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PutIntoCollectionResponse {}

impl Operation for PutIntoCollection {
    type Reply = PutIntoCollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<PutIntoCollectionResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = self.0.lock(&txn, caller).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        bookmarks::add_to_collection(&txn, &row, self.0.collection, now).await?;
        record_change(&txn, &self.0, &row, now).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(PutIntoCollectionResponse {})
    }
}

/// The bookmark is not in the collection, whether it was in it before or not.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TakeFromCollectionResponse {}

impl Operation for TakeFromCollection {
    type Reply = TakeFromCollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<TakeFromCollectionResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = self.0.lock(&txn, caller).await?;
        collection_bookmark::Entity::delete_owned(caller.user)
            .filter(collection_bookmark::Column::CollectionId.eq(self.0.collection))
            .filter(collection_bookmark::Column::BookmarkId.eq(self.0.bookmark))
            .exec(&txn)
            .await?;
        record_change(&txn, &self.0, &row, now).await?;
        txn.commit().await?;
        Ok(TakeFromCollectionResponse {})
    }
}

/// Records that the collection and the bookmark changed now.
async fn record_change(
    txn: &impl ConnectionTrait,
    membership: &Membership,
    row: &bookmark::Model,
    now: Timestamp,
) -> Result<(), Error> {
    collection::Entity::update_owned(row.user_id)
        .col_expr(collection::Column::UpdatedAt, Expr::value(now))
        .filter(collection::Column::Id.eq(membership.collection))
        .exec(txn)
        .await?;
    bookmarks::touch(txn, row.clone(), now).await?;
    Ok(())
}
