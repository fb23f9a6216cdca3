//! What the database says of the index: how many passages it is to hold, and which documents it lost.

use std::collections::BTreeMap;

use database::Db;
use entity::document;
use entity::id::{DocumentId, UserId};
use entity::time::Timestamp;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect};

use errors::Error;
use jobs::{Priority, JobKind};
use library::owned_transaction::begin_owned;

/// Lost documents without a job that are asked for at a time.
const ASKED_AT_ONCE: u64 = 500;

/// A document whose passages the index is to hold.
#[derive(Clone, Copy, Debug)]
pub struct IndexedDocument {
    pub id: DocumentId,
    pub user: UserId,
    /// The version of its text that the index is to hold.
    pub version: i32,
    /// How many passages that version has.
    pub passages: i32,
    /// When the index was last told something about it.
    pub indexed_at: Option<Timestamp>,
}

/// How many passages the index is to hold, of all users.
///
/// # Errors
/// The database fails.
pub async fn expected_passages(db: &impl ConnectionTrait) -> Result<u64, DbErr> {
    let sum = document::Entity::of_every_user_with_hidden()
        .select_only()
        .column_as(document::Column::IndexedPassages.sum(), "passages")
        // Spelled out, as in the partial index.
        .filter(Expr::cust("indexed_passages > 0"));
    let sum = sum.into_tuple::<Option<i64>>().one(db).await?.flatten();
    Ok(sum.map_or(0, |sum| u64::try_from(sum).unwrap_or(0)))
}

/// Counts the visible documents of all users whose passages or vectors the index has lost and not yet restored.
///
/// # Errors
/// The database fails.
pub async fn count_lost(db: &impl ConnectionTrait) -> Result<u64, DbErr> {
    let count = document::Entity::lost_by_index()
        .select_only()
        .column_as(document::Column::Id.count(), "documents")
        .into_tuple::<i64>();
    Ok(count.one(db).await?.map_or(0, |count| u64::try_from(count).unwrap_or(0)))
}

/// Writes down that the index lost these documents, and asks for them to be put in again, those of one user in the order
/// given, and behind everything that a user waits for; how many it wrote down. What the index was told of since its row was read is left alone.
pub async fn mark_lost(db: &Db, lost: &[IndexedDocument], now: Timestamp) -> Result<u64, Error> {
    let mut marked = 0;
    for (user, documents) in group_by_user(lost.iter().map(|document| (document.user, document))) {
        let ids: Vec<DocumentId> = documents.iter().map(|document| document.id).collect();
        let txn = begin_owned(db, user).await?;
        let updated = document::Entity::update_many()
            .col_expr(document::Column::IndexedVersion, Expr::value(0))
            .col_expr(document::Column::IndexedPassages, Expr::value(0))
            // The model stays: it tells that vectors are to come back too.
            .col_expr(document::Column::IndexLostAt, Expr::value(Some(now)))
            .filter(document::Column::UserId.eq(user))
            .filter(document::Column::Id.is_in(ids.iter().copied()))
            .filter(document::Column::HiddenAt.is_null())
            .filter(are_as_read(&documents))
            .exec(&txn)
            .await?;
        marked += updated.rows_affected;
        ask(&txn, user, ids, now).await?;
        txn.commit().await?;
    }
    Ok(marked)
}

/// Rows that still say what was read of them. Not compared with the time of the reading: a clock that was set back makes rows
/// from before look newer.
fn are_as_read(documents: &[&IndexedDocument]) -> Condition {
    documents.iter().fold(Condition::any(), |any, document| {
        let is_as_read = match document.indexed_at {
            Some(at) => document::Column::IndexedAt.eq(at),
            None => document::Column::IndexedAt.is_null(),
        };
        any.add(Condition::all().add(document::Column::Id.eq(document.id)).add(is_as_read))
    })
}

/// Queues lost documents again that have no job; without a model, only those that lack more than their vectors.
pub async fn ask_for_lost(db: &Db, has_model: bool, now: Timestamp) -> Result<(), Error> {
    let mut left = document::Entity::lost_by_index();
    if !has_model {
        left = left.filter(document::Column::IndexedVersion.eq(0));
    }
    let left = left
        .filter(document::Column::Id.not_in_subquery(jobs::subjects(JobKind::Index)))
        .select_only()
        .column(document::Column::UserId)
        .column(document::Column::Id)
        .limit(ASKED_AT_ONCE)
        .into_tuple::<(UserId, DocumentId)>();
    let left = left.all(db.read()).await?;
    for (user, ids) in group_by_user(left.into_iter()) {
        let txn = begin_owned(db, user).await?;
        ask(&txn, user, ids, now).await?;
        txn.commit().await?;
    }
    Ok(())
}

fn group_by_user<T>(documents: impl Iterator<Item = (UserId, T)>) -> BTreeMap<UserId, Vec<T>> {
    let mut by_user: BTreeMap<UserId, Vec<T>> = BTreeMap::new();
    for (user, document) in documents {
        by_user.entry(user).or_default().push(document);
    }
    by_user
}

async fn ask(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: Vec<DocumentId>,
    now: Timestamp,
) -> Result<(), DbErr> {
    let subjects = ids.into_iter().map(|id| id.0);
    jobs::enqueue_all(txn, user, JobKind::Index, subjects, Priority::Backlog, now).await
}
