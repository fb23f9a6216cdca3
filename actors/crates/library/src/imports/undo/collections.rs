//! Deletes the collections of an import. They come last, when they may be empty.

use std::collections::HashSet;

use database::is_null_tested;
use entity::{bookmark, collection, collection_bookmark, import, import_row, job};
use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use values::id::CollectionId;
use values::kind::ImportedKind;

use super::super::library_lock::lock_library;
use super::super::rows::trace::RowTrace;
use super::super::{created, fingerprint};
use super::decision::{BatchDecisions, RowDecision};
use crate::BATCH_ROWS;
use crate::context::CoreContext;
use crate::owned_transaction::begin_owned;
use errors::Error;
use jobs::JobError;

/// Deletes the import's collections that are unchanged and empty. Repeats until a pass deletes none: an outer collection becomes
/// empty when its inner ones are deleted.
///
/// # Errors
/// [`JobError`], as of every job.
pub async fn delete_empty(
    core: &CoreContext,
    job: &job::Model,
    import: &import::Model,
) -> Result<(), JobError> {
    let mut left = created::list_collections(core.db.read(), import).await?;
    // A statement deletes only the innermost collections of its batch: to it, the collections around them are not empty yet.
    loop {
        let mut retained = Vec::new();
        for batch in left.chunks(BATCH_ROWS) {
            let (now, txn) = (core.clock.now(), begin_owned(&core.db, import.user_id).await?);
            lock_library(&txn, import.user_id).await?;
            if !jobs::advance(&txn, job, now).await? {
                return Err(JobError::LeaseLost);
            }
            retained.extend(delete_batch(&txn, import, batch).await?);
            txn.commit().await?;
        }
        if retained.len() == left.len() {
            return Ok(());
        }
        left = retained;
    }
}

/// Stores the decision that the remaining collections stay.
pub async fn retain_others(txn: &impl ConnectionTrait, import: &import::Model) -> Result<(), Error> {
    import_row::Entity::update_owned(import.user_id)
        .col_expr(import_row::Column::Detail, Expr::value(None::<String>))
        .filter(import_row::Column::ImportId.eq(import.id))
        .filter(import_row::Column::Kind.eq(ImportedKind::Collection))
        .filter(import_row::Column::Detail.is_not_null())
        .exec(txn)
        .await?;
    Ok(())
}

/// Deletes the collections of a batch that are unchanged and empty. Returns the others.
async fn delete_batch(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    ids: &[CollectionId],
) -> Result<Vec<CollectionId>, Error> {
    let rows = rows_that_created(txn, import, ids).await?;
    let unchanged = lock_unchanged(txn, import, ids, &rows).await?;
    delete_if_empty(txn, import, unchanged).await?;
    let left = collection::Entity::owned_by(import.user_id)
        .filter(collection::Column::Id.is_in(ids.iter().copied()))
        .select_only()
        .column(collection::Column::Id);
    let left: Vec<CollectionId> = left.into_tuple().all(txn).await?;
    let left_ids: HashSet<Uuid> = left.iter().map(|id| id.0).collect();
    let mut decisions = BatchDecisions::default();
    for row in rows.iter().filter(|row| row.object_id.is_some_and(|id| !left_ids.contains(&id))) {
        decisions.record(row.id, RowDecision::Deleted);
    }
    decisions.store(txn, import.user_id).await?;
    Ok(left)
}

/// Returns the rows of the import that created these collections.
async fn rows_that_created(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    ids: &[CollectionId],
) -> Result<Vec<import_row::Model>, Error> {
    // Filtered by the object, and by the import only below: with the import in the query SQLite may read all of its rows.
    let rows = import_row::Entity::owned_by(import.user_id)
        .filter(import_row::Column::Kind.eq(ImportedKind::Collection))
        .filter(import_row::Column::ObjectId.is_in(ids.iter().map(|id| id.0)));
    let rows = rows.all(txn).await?.into_iter();
    Ok(rows.filter(|row| row.import_id == import.id && row.has_created()).collect())
}

/// Locks the collections until the transaction ends, so that they are not changed and nothing is added to them. Returns those
/// that have the fingerprint of their row.
async fn lock_unchanged(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    ids: &[CollectionId],
    rows: &[import_row::Model],
) -> Result<Vec<CollectionId>, Error> {
    let locked = collection::Entity::owned_by(import.user_id)
        .filter(collection::Column::Id.is_in(ids.iter().copied()))
        // In the order in which saves lock collections, which prevents deadlocks.
        .order_by_asc(collection::Column::Id)
        .select_only()
        .column(collection::Column::Id);
    let locked: Vec<Uuid> = locked.lock_exclusive().into_tuple().all(txn).await?;
    let current = fingerprint::compute(txn, import.user_id, ImportedKind::Collection, &locked).await?;
    let is_unchanged = |row: &import_row::Model, id: &Uuid| {
        current.contains_key(id)
            && current.get(id) == RowTrace::parse(row.detail.as_deref()).fingerprint.as_ref()
    };
    let same = rows.iter().filter_map(|row| row.object_id.filter(|id| is_unchanged(row, id)));
    Ok(same.map(CollectionId).collect())
}

/// Deletes those of these collections that contain no collection, and no bookmark except deleted ones.
async fn delete_if_empty(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    ids: Vec<CollectionId>,
) -> Result<(), Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let user = import.user_id;
    let filing = |column| Expr::col((collection_bookmark::Entity, column));
    let filed = Query::select()
        .expr(Expr::val(1))
        .from(collection_bookmark::Entity)
        .inner_join(
            bookmark::Entity,
            Expr::col((bookmark::Entity, bookmark::Column::Id))
                .equals((collection_bookmark::Entity, collection_bookmark::Column::BookmarkId)),
        )
        .and_where(
            filing(collection_bookmark::Column::CollectionId)
                .equals((collection::Entity, collection::Column::Id)),
        )
        .and_where(filing(collection_bookmark::Column::UserId).eq(user))
        .and_where(is_null_tested(bookmark::Column::DeletedAt.into_expr()))
        .to_owned();
    let inner = Alias::new("inner_one");
    let within = Query::select()
        .expr(Expr::val(1))
        .from_as(collection::Entity, inner.clone())
        .and_where(Expr::col((inner.clone(), collection::Column::UserId)).eq(user))
        .and_where(
            Expr::col((inner, collection::Column::ParentId))
                .equals((collection::Entity, collection::Column::Id)),
        )
        .to_owned();
    // One conditional statement: a collection that was filled since the list was read does not match.
    collection::Entity::delete_owned(user)
        .filter(collection::Column::Id.is_in(ids))
        .filter(Expr::exists(filed).not())
        .filter(Expr::exists(within).not())
        .exec(txn)
        .await?;
    Ok(())
}
