//! Changing what is named of a collection, and nothing else. A collection never stands within itself.

use std::collections::HashMap;

use entity::id::{CollectionId, UserId};
use entity::scope::Scope;
use entity::{collection, user};
use sea_orm::sea_query::LockType;
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ConnectionTrait, EntityTrait, IntoActiveModel, QuerySelect,
};

use super::kinds;
use super::view::{self, CollectionResponse};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use library::library_quota::LibraryRoom;
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// What is to be different; `Some(None)` empties.
#[derive(Debug)]
pub struct ChangeCollection {
    id: CollectionId,
    name: Option<String>,
    description: Option<Option<String>>,
    parent: Option<Option<CollectionId>>,
}

impl ChangeCollection {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::optional("name", kinds::NAME, "The new name."),
        Field::optional("description", kinds::DESCRIPTION, "The new description. `null` removes it."),
        Field::optional(
            "parentId",
            Kind::Id,
            "The new parent collection. `null` makes it a top-level collection.",
        ),
    ];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            id: target.id(0)?,
            name: values.text("name"),
            description: values.change("description"),
            parent: values.has("parentId").then(|| values.id("parentId").map(CollectionId)),
        })
    }
}

impl Operation for ChangeCollection {
    type Reply = CollectionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteCollections];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CollectionResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        if let Some(Some(parent)) = self.parent {
            may_stand_in(&txn, caller.user, self.id, parent).await?;
        }
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
        changed.update(&txn).await?;
        let changed = view::one(&txn, caller.user, self.id).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(changed)
    }
}

/// Whether one may stand in the other. Two that are put into each other at the same time must not both pass, so one
/// move of a user's collections waits for another.
async fn may_stand_in(
    txn: &impl ConnectionTrait,
    user: UserId,
    moved: CollectionId,
    parent: CollectionId,
) -> Result<(), Error> {
    user::Entity::find_by_id(user).lock(LockType::NoKeyUpdate).one(txn).await?;
    let all = collection::Entity::owned_by(user)
        .select_only()
        .columns([collection::Column::Id, collection::Column::ParentId])
        .into_tuple()
        .all(txn)
        .await?;
    let parents: HashMap<CollectionId, Option<CollectionId>> = all.into_iter().collect();
    if !parents.contains_key(&moved) || !parents.contains_key(&parent) {
        return Err(Error::not_found());
    }
    if stands_within(&parents, parent, moved) {
        return Err(Error::invalid("parentId", "must not be the collection itself or one inside it"));
    }
    Ok(())
}

/// Whether the first is the second, or stands somewhere within it.
fn stands_within(
    parents: &HashMap<CollectionId, Option<CollectionId>>,
    inner: CollectionId,
    outer: CollectionId,
) -> bool {
    let upwards = std::iter::successors(Some(inner), |at| parents.get(at).copied().flatten());
    // No way up is longer than there are collections, even where rows of another time make a ring.
    upwards.take(parents.len() + 1).any(|at| at == outer)
}

#[cfg(test)]
mod tests {
    use entity::time::Timestamp;

    use super::*;

    #[test]
    fn a_collection_stands_within_itself_and_all_above_it() {
        let [top, middle, low, other] = [(); 4].map(|()| CollectionId::new(Timestamp::from_millis(7)));
        let parents = HashMap::from([(top, None), (middle, Some(top)), (low, Some(middle)), (other, None)]);

        assert!(stands_within(&parents, top, top) && stands_within(&parents, low, top));
        assert!(!stands_within(&parents, top, low) && !stands_within(&parents, low, other));
    }

    #[test]
    fn a_ring_of_another_time_has_an_end() {
        let [a, b, c] = [(); 3].map(|()| CollectionId::new(Timestamp::from_millis(7)));
        let ring = HashMap::from([(a, Some(b)), (b, Some(a)), (c, None)]);

        assert!(!stands_within(&ring, a, c));
    }
}
