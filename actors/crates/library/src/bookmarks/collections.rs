//! The collections that bookmarks are in.

use std::collections::BTreeSet;

use database::insert_all;
use entity::{bookmark, collection, collection_bookmark};
use sea_orm::sea_query::{LockType, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use values::id::{CollectionId, UserId};
use values::time::Timestamp;

use errors::Error;

/// Adds a bookmark to a collection. If it is in it already, nothing changes.
pub async fn add_to_collection(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    collection: CollectionId,
    now: Timestamp,
) -> Result<(), Error> {
    let membership = collection_bookmark::Model::new(row, collection, now);
    insert_all::<collection_bookmark::Entity>(txn, [membership], Some(&skip_existing_membership())).await?;
    Ok(())
}

/// Replaces the collections that a bookmark is in.
pub async fn replace_collections(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    collections: &[CollectionId],
    now: Timestamp,
) -> Result<(), Error> {
    let old = collection_bookmark::Entity::delete_owned(row.user_id);
    old.filter(collection_bookmark::Column::BookmarkId.eq(row.id)).exec(txn).await?;
    for collection in collections {
        add_to_collection(txn, row, *collection, now).await?;
    }
    Ok(())
}

/// Inserts a membership only if the bookmark is not in the collection.
pub(crate) fn skip_existing_membership() -> OnConflict {
    OnConflict::columns([collection_bookmark::Column::CollectionId, collection_bookmark::Column::BookmarkId])
        .do_nothing()
        .to_owned()
}

/// Requires that all collections belong to the user, and locks them against deletion until the transaction ends.
///
/// # Errors
/// [`Error::NotFound`] when one does not exist or belongs to another user: it names the first such one by its index in
/// `collectionIds`.
pub async fn lock_own_collections(
    txn: &impl ConnectionTrait,
    user: UserId,
    collections: &[CollectionId],
) -> Result<(), Error> {
    let ids: BTreeSet<CollectionId> = collections.iter().copied().collect();
    if ids.is_empty() {
        return Ok(());
    }
    let own = collection::Entity::owned_by(user).filter(collection::Column::Id.is_in(ids.iter().copied()));
    // KEY SHARE conflicts with a deletion, but not with a change of the name or with others that add bookmarks.
    let own = own.order_by_asc(collection::Column::Id).lock(LockType::KeyShare).all(txn).await?;
    let is_missing = |id: &CollectionId| !own.iter().any(|row| row.id == *id);
    match collections.iter().position(is_missing) {
        Some(n) => Err(Error::not_found().of_item(&format!("collectionIds[{n}]"))),
        None => Ok(()),
    }
}
