//! Changes the given fields of a collection. A collection is never nested in itself.

use std::collections::HashMap;

use entity::{collection, user};
use sea_orm::sea_query::LockType;
use sea_orm::{ActiveValue::Set, ConnectionTrait, EntityTrait, IntoActiveModel, QuerySelect};
use values::id::{CollectionId, UserId};
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
use validation::{DisplayName, Id, Text, request};

/// Changes the given fields of a collection; `None` keeps a field, `Some(None)` removes its value.
#[derive(Debug)]
pub struct ChangeCollection {
    id: CollectionId,
    name: Option<String>,
    description: Option<Option<String>>,
    parent: Option<Option<CollectionId>>,
}

request! {
    /// The changes of a collection.
    pub struct ChangeCollectionRequest {
        /// The new name, which need not be unique.
        pub name?: CollectionName,
        /// The new description. `null` removes it.
        pub description~: CollectionDescription,
        /// The new parent collection. `null` makes it a top-level collection.
        pub parent_id~: Id<CollectionId>,
    }
}

impl FromRequest for ChangeCollection {
    type Request = ChangeCollectionRequest;

    fn from_request(target: &Target, request: ChangeCollectionRequest) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            name: request.name.map(DisplayName::into_inner),
            description: request.description.map(Text::into_inner).into_change(),
            parent: request.parent_id.map(Id::into_inner).into_change(),
        })
    }
}

impl Operation for ChangeCollection {
    type Reply = CollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CollectionResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        if let Some(Some(parent)) = self.parent {
            // Before the collection is locked: it locks the user's row, which comes first (`library::owned_transaction`).
            require_valid_parent(&txn, caller.user, self.id, parent).await?;
        }
        // NO KEY UPDATE: bookmarks may be added to the collection meanwhile, which only lock its key.
        let found = collection::Entity::one_of(caller.user, self.id).lock(LockType::NoKeyUpdate);
        let mut changed = found.one(&txn).await?.ok_or(Error::not_found())?.into_active_model();
        if let Some(name) = self.name {
            changed.name = Set(name);
        }
        if let Some(description) = self.description {
            changed.description = Set(description);
        }
        if let Some(parent) = self.parent {
            changed.parent_id = Set(parent);
        }
        changed.updated_at = Set(ctx.core.clock.now());
        collection::Entity::update_owned_row(&txn, caller.user, changed).await?;
        let changed = view::load_view(&txn, caller.user, self.id).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(changed)
    }
}

/// Requires that a collection may be moved into a parent.
///
/// # Errors
/// [`Error::NotFound`] when one of them does not exist or belongs to another user, with `parentId` for the parent;
/// [`Error::Invalid`] when the parent is the collection itself or nested in it; the database fails.
async fn require_valid_parent(
    txn: &impl ConnectionTrait,
    user: UserId,
    moved: CollectionId,
    parent: CollectionId,
) -> Result<(), Error> {
    // Moves of a user's collections run one after the other: two collections that are moved into each other would both pass.
    user::Entity::find_by_id(user).lock(LockType::NoKeyUpdate).one(txn).await?;
    let all = collection::Entity::owned_by(user)
        .select_only()
        .columns([collection::Column::Id, collection::Column::ParentId])
        .into_tuple()
        .all(txn)
        .await?;
    let parents: HashMap<CollectionId, Option<CollectionId>> = all.into_iter().collect();
    if !parents.contains_key(&moved) {
        return Err(Error::not_found());
    }
    if !parents.contains_key(&parent) {
        return Err(Error::not_found().of_item("parentId"));
    }
    if is_within(&parents, parent, moved) {
        return Err(Error::invalid("parentId", "must not be the collection itself or one inside it"));
    }
    Ok(())
}

/// Returns whether a collection is another one or is nested in it.
fn is_within(
    parents: &HashMap<CollectionId, Option<CollectionId>>,
    inner: CollectionId,
    outer: CollectionId,
) -> bool {
    let ancestors = std::iter::successors(Some(inner), |id| parents.get(id).copied().flatten());
    // Bounded, because stored rows could form a cycle.
    ancestors.take(parents.len() + 1).any(|id| id == outer)
}

#[cfg(test)]
mod tests {
    use values::time::Timestamp;

    use super::*;

    #[test]
    fn collection_is_within_itself_and_its_ancestors() {
        let [top, middle, low, other] = [(); 4].map(|()| CollectionId::new(Timestamp::from_millis(7)));
        let parents = HashMap::from([(top, None), (middle, Some(top)), (low, Some(middle)), (other, None)]);

        assert!(is_within(&parents, top, top) && is_within(&parents, low, top));
        assert!(!is_within(&parents, top, low) && !is_within(&parents, low, other));
    }

    #[test]
    fn search_of_ancestors_ends_in_a_cycle() {
        let [a, b, c] = [(); 3].map(|()| CollectionId::new(Timestamp::from_millis(7)));
        let cycle = HashMap::from([(a, Some(b)), (b, Some(a)), (c, None)]);

        assert!(!is_within(&cycle, a, c));
    }
}
