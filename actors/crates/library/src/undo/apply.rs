//! Carries out the steps by which changes are undone.

use database::{insert_all, padded};
use entity::{bookmark, collection, collection_bookmark};
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::{BookmarkId, CollectionId, UserId};
use values::time::Timestamp;

use super::change::BookmarkChange;
use super::collection::restore_collection;
use super::step::{UndoCount, UndoStep};
use crate::bookmarks::{lock, restore, skip_existing_membership, touch_many};
use errors::Error;

impl UndoStep {
    /// Carries the step out for the user, in the caller's transaction, which it locks the bookmarks in.
    pub async fn apply(
        &self,
        txn: &impl ConnectionTrait,
        user: UserId,
        now: Timestamp,
    ) -> Result<UndoCount, Error> {
        let change = match self {
            Self::SetArchived { archived, ids } => (BookmarkChange::SetArchived(*archived), ids),
            Self::SetFavorite { favorite, ids } => (BookmarkChange::SetFavorite(*favorite), ids),
            Self::AddTag { name, ids } => (BookmarkChange::AddTag(name.clone()), ids),
            Self::RemoveTag { name, ids } => (BookmarkChange::RemoveTag(name.clone()), ids),
            Self::TakeFromCollection { collection, ids } => {
                if !lock_collection(txn, user, *collection).await? {
                    return Ok(UndoCount { undone: 0, failed: ids.len() });
                }
                (BookmarkChange::TakeFromCollection(*collection), ids)
            }
            Self::PutIntoCollection { collection, members } => {
                return put_back(txn, user, *collection, members, now).await;
            }
            Self::Restore { ids } => return restore_all(txn, user, ids, now).await,
            Self::RestoreCollection { collection, nested } => {
                return restore_collection(txn, user, collection, nested, now).await;
            }
        };
        let (change, ids) = change;
        let locked = lock_all(txn, user, ids).await?;
        change.apply(txn, user, &locked, now).await?;
        Ok(UndoCount { undone: locked.len(), failed: ids.len().saturating_sub(locked.len()) })
    }
}

async fn lock_all(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
) -> Result<Vec<BookmarkId>, Error> {
    lock(txn, bookmark::Entity::with_deleted(user).filter(bookmark::Column::Id.is_in(padded(ids)))).await
}

/// Locks a collection. Returns whether it exists.
async fn lock_collection(txn: &impl ConnectionTrait, user: UserId, id: CollectionId) -> Result<bool, Error> {
    let found = collection::Entity::one_of(user, id).lock(LockType::NoKeyUpdate).one(txn).await?;
    Ok(found.is_some())
}

/// Adds bookmarks to a collection with the times when they were added before.
async fn put_back(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: CollectionId,
    members: &[(BookmarkId, Timestamp)],
    now: Timestamp,
) -> Result<UndoCount, Error> {
    if !lock_collection(txn, user, id).await? {
        return Ok(UndoCount { undone: 0, failed: members.len() });
    }
    let ids: Vec<BookmarkId> = members.iter().map(|(id, _)| *id).collect();
    let locked = lock_all(txn, user, &ids).await?;
    if locked.is_empty() {
        return Ok(UndoCount { undone: 0, failed: members.len() });
    }
    let rows = bookmark::Entity::with_deleted(user).filter(bookmark::Column::Id.is_in(padded(&locked)));
    let rows = rows.all(txn).await?;
    let memberships = rows.iter().filter_map(|row| {
        let (_, added_at) = members.iter().find(|(id, _)| *id == row.id)?;
        Some(collection_bookmark::Model::new(row, id, *added_at))
    });
    insert_all::<collection_bookmark::Entity>(txn, memberships, Some(&skip_existing_membership())).await?;
    collection::Entity::update_owned(user)
        .col_expr(collection::Column::UpdatedAt, Expr::value(now))
        .filter(collection::Column::Id.eq(id))
        .exec(txn)
        .await?;
    touch_many(txn, user, &locked, now).await?;
    Ok(UndoCount { undone: locked.len(), failed: members.len().saturating_sub(locked.len()) })
}

async fn restore_all(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
    now: Timestamp,
) -> Result<UndoCount, Error> {
    let mut count = UndoCount::default();
    // In the order of the ids, as other transactions lock bookmarks.
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    for id in ids {
        match restore(txn, user, id, now).await {
            Ok(_) => count.undone = count.undone.saturating_add(1),
            // It was removed for good, or its URL was saved again.
            Err(Error::NotFound(_) | Error::Conflict(_)) => count.failed = count.failed.saturating_add(1),
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
