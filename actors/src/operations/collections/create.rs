//! Creates a collection.

use entity::collection;
use sea_orm::sea_query::LockType;
use sea_orm::{EntityTrait, IntoActiveModel, QuerySelect};
use values::id::CollectionId;
use values::scope::Scope;

use super::field_types::{CollectionDescription, CollectionName};
use super::view::{self, CollectionResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::{Id, Text, request};

/// Creates a collection, at the top level or within another one.
#[derive(Debug)]
pub struct CreateCollection {
    name: String,
    description: Option<String>,
    parent: Option<CollectionId>,
}

request! {
    /// A new collection of bookmarks.
    pub struct CreateCollectionRequest {
        /// Name of the collection. Names need not be unique.
        pub name: CollectionName,
        /// Description of the collection, at most 100,000 characters.
        pub description?: CollectionDescription,
        /// The collection in which this one is nested. Default: none.
        pub parent_id?: Id<CollectionId>,
    }
}

impl FromRequest for CreateCollection {
    type Request = CreateCollectionRequest;

    fn from_request(_: &Target, request: CreateCollectionRequest) -> Result<Self, Error> {
        Ok(Self {
            name: request.name.into_inner(),
            description: request.description.map(Text::into_inner),
            parent: request.parent_id.map(Id::into_inner),
        })
    }
}

impl Operation for CreateCollection {
    type Reply = CollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CollectionResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        if let Some(parent) = self.parent {
            // Locked, so that it is not deleted before this collection is in it.
            let parent = collection::Entity::one_of(caller.user, parent).lock(LockType::KeyShare);
            parent.one(&txn).await?.ok_or_else(|| Error::not_found().of_item("parentId"))?;
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
        let created = view::load_view(&txn, caller.user, id).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(created)
    }
}
