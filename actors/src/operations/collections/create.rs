//! Creates a collection.

use entity::collection;
use entity::id::CollectionId;
use entity::scope::Scope;
use sea_orm::sea_query::LockType;
use sea_orm::{EntityTrait, IntoActiveModel, QuerySelect};

use super::kinds;
use super::view::{self, CollectionResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::target::Target;
use errors::Error;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::{Field, Kind, Values};

/// A new collection.
#[derive(Debug)]
pub struct CreateCollection {
    name: String,
    description: Option<String>,
    parent: Option<CollectionId>,
}

impl CreateCollection {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("name", kinds::NAME, "Name of the collection. Names need not be unique."),
        Field::optional("description", kinds::DESCRIPTION, "Description of the collection."),
        Field::optional("parentId", Kind::Id, "The parent collection."),
    ];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            name: values.text("name").unwrap_or_default(),
            description: values.text("description"),
            parent: values.id("parentId").map(CollectionId),
        })
    }
}

impl Operation for CreateCollection {
    type Reply = CollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CollectionResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        if let Some(parent) = self.parent {
            // Locked, so that it is not deleted before this collection is in it.
            let parent = collection::Entity::one_of(caller.user, parent).lock(LockType::KeyShare);
            parent.one(&txn).await?.ok_or(Error::not_found())?;
        }
        let row = collection::Model {
            id: CollectionId::new(now),
            user_id: caller.user,
            name: self.name,
            description: self.description,
            parent_id: self.parent,
            created_at: now,
            updated_at: now,
        };
        let id = row.id;
        collection::Entity::insert(row.into_active_model()).exec_without_returning(&txn).await?;
        let created = view::one(&txn, caller.user, id).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(created)
    }
}
