//! How the deletion of a collection is recorded, and undone.

use database::padded;
use entity::{collection, collection_bookmark, user};
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use values::id::{BookmarkId, CollectionId, UndoId, UserId};
use values::time::Timestamp;

use super::record::{begin_undo, record_step};
use super::step::{DeletedCollection, UndoCount, UndoStep};
use crate::BATCH_ROWS;
use errors::Error;

/// Records a collection that the caller's transaction has locked and deletes afterwards. Returns the token by which that is undone.
pub async fn record_collection_deletion(
    txn: &impl ConnectionTrait,
    row: collection::Model,
    now: Timestamp,
) -> Result<UndoId, Error> {
    let (user, id) = (row.user_id, row.id);
    let members = members(txn, user, id).await?;
    let nested = nested_in(txn, user, id).await?;
    let put_back = |members: &[(BookmarkId, Timestamp)]| UndoStep::PutIntoCollection {
        collection: id,
        members: members.to_vec(),
    };
    let mut steps: Vec<UndoStep> = members.chunks(BATCH_ROWS).map(put_back).collect();
    // The last step is carried out first: the collection must be there before its bookmarks are put back.
    steps.push(UndoStep::RestoreCollection { collection: row.into(), nested });
    let token = begin_undo(txn, user, now).await?;
    for (position, step) in (0_i32..).zip(&steps) {
        record_step(txn, user, token, position, step).await?;
    }
    Ok(token)
}

/// Returns the bookmarks in a collection, deleted ones too, with the times when they were added.
async fn members(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: CollectionId,
) -> Result<Vec<(BookmarkId, Timestamp)>, Error> {
    use collection_bookmark::Column as C;
    let members = collection_bookmark::Entity::owned_by(user)
        .filter(C::CollectionId.eq(id))
        .select_only()
        .columns([C::BookmarkId, C::AddedAt]);
    Ok(members.into_tuple().all(txn).await?)
}

/// Returns the collections that are directly in another one. It reads all collections of the user, as the tree does.
async fn nested_in(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: CollectionId,
) -> Result<Vec<CollectionId>, Error> {
    use collection::Column as C;
    let all = collection::Entity::owned_by(user).select_only().columns([C::Id, C::ParentId]);
    let all: Vec<(CollectionId, Option<CollectionId>)> = all.into_tuple().all(txn).await?;
    Ok(all.into_iter().filter(|(_, parent)| *parent == Some(id)).map(|(nested, _)| nested).collect())
}

/// Creates a deleted collection again, in its parent if that still exists, and moves the collections back into it that are at the top level.
pub(super) async fn restore_collection(
    txn: &impl ConnectionTrait,
    user: UserId,
    deleted: &DeletedCollection,
    nested: &[CollectionId],
    now: Timestamp,
) -> Result<UndoCount, Error> {
    // As every move of a collection: two at once could nest collections in each other.
    user::Entity::find_by_id(user).lock(LockType::NoKeyUpdate).one(txn).await?;
    let outer = outer_collections(txn, user, deleted.parent).await?;
    let row = collection::Model {
        id: deleted.id,
        user_id: user,
        name: deleted.name.clone(),
        description: deleted.description.clone(),
        parent_id: outer.first().copied(),
        created_at: deleted.created_at,
        updated_at: now,
    };
    collection::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    move_back(txn, user, deleted.id, nested, &outer).await?;
    Ok(UndoCount::default())
}

/// Returns a collection and those around it, from the innermost to the outermost; none if it does not exist.
async fn outer_collections(
    txn: &impl ConnectionTrait,
    user: UserId,
    innermost: Option<CollectionId>,
) -> Result<Vec<CollectionId>, Error> {
    let (mut outer, mut next) = (Vec::new(), innermost);
    // Stored rows that form a cycle end the search too.
    while let Some(id) = next.filter(|id| !outer.contains(id)) {
        let found = collection::Entity::one_of(user, id).lock(LockType::KeyShare);
        let Some(row) = found.one(txn).await? else { break };
        outer.push(row.id);
        next = row.parent_id;
    }
    Ok(outer)
}

/// Moves collections into one that was restored, but for those that were moved elsewhere meanwhile, or that it is now in itself.
async fn move_back(
    txn: &impl ConnectionTrait,
    user: UserId,
    into: CollectionId,
    nested: &[CollectionId],
    outer: &[CollectionId],
) -> Result<(), Error> {
    if nested.is_empty() {
        return Ok(());
    }
    let rows = collection::Entity::owned_by(user).filter(collection::Column::Id.is_in(padded(nested)));
    let rows = rows.lock(LockType::NoKeyUpdate).all(txn).await?;
    let is_free = |row: &&collection::Model| row.parent_id.is_none() && !outer.contains(&row.id);
    let moved: Vec<CollectionId> = rows.iter().filter(is_free).map(|row| row.id).collect();
    if moved.is_empty() {
        return Ok(());
    }
    collection::Entity::update_owned(user)
        .col_expr(collection::Column::ParentId, Expr::value(Some(into)))
        .filter(collection::Column::Id.is_in(padded(&moved)))
        .exec(txn)
        .await?;
    Ok(())
}
