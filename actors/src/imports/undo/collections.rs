//! Collections go last, once nothing is in them any more.

use entity::id::CollectionId;
use entity::kind::{ImportedKind, RowOutcome};
use entity::time::Timestamp;
use entity::{bookmark, collection, collection_bookmark, import, import_row, job};
use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::super::said::Added;
use super::super::{hand_on, library, sums};
use super::forget;
use crate::app::App;
use crate::error::Error;
use crate::ingest::{Failure, queue};
use crate::ops::bookmarks::save::AT_ONCE;
use crate::owned_transaction::begin_owned;

/// Removes those of these collections that hold nothing else by now, a lot at a time; those within others go before
/// these. The others go over to imports that brought something into them.
///
/// # Errors
/// [`Failure`], as every job.
pub async fn remove(
    app: &App,
    job: &job::Model,
    import: &import::Model,
    made: Vec<CollectionId>,
) -> Result<(), Failure> {
    let stay = passes(app, job, import, Pass::Remove, made).await?;
    passes(app, job, import, Pass::HandOver, stay).await.map(drop)
}

/// What is done to collections.
#[derive(Clone, Copy)]
enum Pass {
    /// Those in which nothing is are removed.
    Remove,
    /// Those that another import brought something into go over to it.
    HandOver,
}

/// Passes over the collections until one changes nothing: what becomes of an inner one tells of the outer. Those that stay.
async fn passes(
    app: &App,
    job: &job::Model,
    import: &import::Model,
    pass: Pass,
    mut left: Vec<CollectionId>,
) -> Result<Vec<CollectionId>, Failure> {
    loop {
        let mut stay = Vec::new();
        for some in left.chunks(AT_ONCE) {
            let (now, txn) = (app.clock.now(), begin_owned(&app.db, import.user_id).await?);
            library::hold(&txn, import.user_id).await?;
            if !queue::advance(&txn, job, now).await? {
                return Err(Failure::LeaseLost);
            }
            stay.extend(match pass {
                Pass::Remove => remove_empty(&txn, import, some).await?,
                Pass::HandOver => hand_over(&txn, import, some, now).await?,
            });
            txn.commit().await?;
        }
        if stay.len() == left.len() {
            return Ok(stay);
        }
        left = stay;
    }
}

/// Hands over those that another import would have; the others.
async fn hand_over(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    some: &[CollectionId],
    now: Timestamp,
) -> Result<Vec<CollectionId>, Error> {
    let (mut stay, rows) = (some.to_vec(), made_by(txn, import, some).await?);
    for row in rows {
        let Some(id) = row.made_id.map(CollectionId) else { continue };
        if stay.contains(&id) && hand_on::collection(txn, &row, id, now).await? {
            let own = import_row::Column::UserId.eq(import.user_id);
            let own = own.and(import_row::Column::ImportId.eq(import.id));
            forget(txn, own.and(import_row::Column::MadeId.eq(id.0))).await?;
            stay.retain(|other| *other != id);
        }
    }
    Ok(stay)
}

/// The rows by which these were made.
async fn made_by(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    some: &[CollectionId],
) -> Result<Vec<import_row::Model>, Error> {
    let rows = import_row::Entity::within(import.user_id, import.id)
        .filter(import_row::Column::Kind.eq(ImportedKind::Collection))
        .filter(import_row::Column::Outcome.is_in([RowOutcome::Created, RowOutcome::Beside]))
        .filter(import_row::Column::MadeId.is_in(some.iter().map(|id| id.0)));
    Ok(rows.all(txn).await?)
}

/// Those that are as they were made. Until the transaction ends nobody changes them, or files anything in them.
async fn unchanged(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    some: &[CollectionId],
) -> Result<Vec<CollectionId>, Error> {
    let held = collection::Entity::owned_by(import.user_id)
        .filter(collection::Column::Id.is_in(some.iter().copied()))
        .order_by_asc(collection::Column::Id)
        .select_only()
        .column(collection::Column::Id);
    let held: Vec<Uuid> = held.lock_exclusive().into_tuple().all(txn).await?;
    let sums = sums::of(txn, import.user_id, ImportedKind::Collection, &held).await?;
    let mut same = Vec::with_capacity(held.len());
    for row in made_by(txn, import, some).await? {
        let sum = Added::read(row.detail.as_deref())?.sum;
        same.extend(row.made_id.filter(|id| sum.is_some() && sums.get(id) == sum.as_ref()));
    }
    Ok(same.into_iter().map(CollectionId).collect())
}

/// Removes those in which nothing is and that nobody changed; the others.
async fn remove_empty(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    some: &[CollectionId],
) -> Result<Vec<CollectionId>, Error> {
    let (user, unchanged) = (import.user_id, unchanged(txn, import, some).await?);
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
        .and_where(Expr::col((bookmark::Entity, bookmark::Column::DeletedAt)).is_null())
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
    collection::Entity::delete_many()
        .filter(collection::Column::UserId.eq(user))
        .filter(collection::Column::Id.is_in(unchanged))
        .filter(Expr::exists(filed).not())
        .filter(Expr::exists(within).not())
        .exec(txn)
        .await?;
    let stay = collection::Entity::owned_by(user)
        .filter(collection::Column::Id.is_in(some.iter().copied()))
        .select_only()
        .column(collection::Column::Id);
    Ok(stay.into_tuple().all(txn).await?)
}
