//! What the rows of documents say of the index: how many passages it is to hold, and which documents it lost.

use database::Db;
use entity::document;
use errors::Error;
use jobs::{JobKind, Priority};
use library::documents::unindexed_since;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::{Expr, SelectStatement};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, QueryFilter, QuerySelect, UpdateMany};
use values::groups::group_by_user;
use values::id::{DocumentId, UserId};
use values::kind::JobState;
use values::time::Timestamp;

/// Documents that are enqueued, or whose rows are changed, at a time.
pub(super) const ENQUEUED_DOCUMENTS: u64 = 500;

/// A document whose passages the index is to hold.
#[derive(Clone, Copy, Debug)]
pub struct IndexedDocument {
    /// The id of the document.
    pub id: DocumentId,
    /// The owner of the document, whose jobs restore it.
    pub user: UserId,
    /// The version of its text that the index is to hold; 0 if it is to hold none.
    pub version: i32,
    /// The number of passages that the index is to hold: those of that version, and the metadata passage.
    pub points: i32,
    /// Whether the index is to hold its metadata passage.
    pub has_metadata_point: bool,
    /// When its passages or labels in the index were last changed.
    pub indexed_at: Option<Timestamp>,
}

/// Sums the passages that the index is to hold, of all users.
pub async fn expected_passages(db: &impl ConnectionTrait) -> Result<u64, DbErr> {
    let sum = document::Entity::with_hidden_of_every_user()
        .select_only()
        .column_as(document::Column::IndexedPoints.sum(), "passages")
        // Spelled as in the partial index, so that the database uses it.
        .filter(Expr::cust("indexed_points > 0"));
    let sum = sum.into_tuple::<Option<i64>>().one(db).await?.flatten();
    Ok(sum.map_or(0, |sum| u64::try_from(sum).unwrap_or(0)))
}

/// Counts the visible documents of all users whose passages or vectors the index has lost and not yet restored.
pub async fn count_lost(db: &impl ConnectionTrait) -> Result<u64, DbErr> {
    let count = document::Entity::lost_by_index()
        .select_only()
        .column_as(document::Column::Id.count(), "documents")
        .into_tuple::<i64>();
    Ok(count.one(db).await?.map_or(0, |count| u64::try_from(count).unwrap_or(0)))
}

/// Selects the jobs that were to index a document of the outer statement and were given up.
pub(super) fn given_up_jobs() -> SelectStatement {
    jobs::jobs_for((document::Entity, document::Column::Id), JobKind::Index)
        .and_where(jobs::has_state(JobState::GivenUp))
        .to_owned()
}

/// Records that the index lost these documents, and enqueues the index jobs of those with a text with the priority of a backlog, those of
/// one user in the given order. Skips documents that were indexed since their rows were read. Returns the number of recorded documents.
pub async fn mark_lost(db: &Db, lost: &[IndexedDocument], now: Timestamp) -> Result<u64, Error> {
    let mut marked = 0;
    for (user, documents) in group_by_user(lost.iter().map(|document| (document.user, document))) {
        let (texts, metadata): (Vec<&IndexedDocument>, Vec<&IndexedDocument>) =
            documents.into_iter().partition(|document| document.version > 0);
        let ids: Vec<DocumentId> = texts.iter().map(|document| document.id).collect();
        let txn = begin_owned(db, user).await?;
        if !texts.is_empty() {
            // The model stays: it says that vectors are to be restored too.
            let of_texts =
                reset_lost(user, &texts, now).col_expr(document::Column::IndexLostAt, Expr::value(Some(now)));
            marked += of_texts.exec(&txn).await?.rows_affected;
        }
        if !metadata.is_empty() {
            // Their metadata passages, with their vectors, are restored without jobs.
            marked += reset_lost(user, &metadata, now).exec(&txn).await?.rows_affected;
        }
        enqueue(&txn, user, ids, now).await?;
        txn.commit().await?;
    }
    Ok(marked)
}

/// Returns an update by which the index is to hold nothing of these documents, and lacks all that search finds them by. Skips documents that
/// were indexed since their rows were read.
fn reset_lost(user: UserId, documents: &[&IndexedDocument], now: Timestamp) -> UpdateMany<document::Entity> {
    document::Entity::update_owned(user)
        .col_expr(document::Column::IndexedVersion, Expr::value(0))
        .col_expr(document::Column::IndexedPoints, Expr::value(0))
        .col_expr(document::Column::HasMetadataPoint, Expr::value(false))
        .col_expr(document::Column::UnindexedSince, unindexed_since(now))
        .filter(document::Column::Id.is_in(documents.iter().map(|document| document.id)))
        .filter(document::Column::HiddenAt.is_null())
        .filter(is_unchanged(documents))
}

/// Matches the rows whose `indexed_at` is still the one that was read. It is not compared with the time of the reading, because
/// rows look newer than they are once the clock is set back.
fn is_unchanged(documents: &[&IndexedDocument]) -> Condition {
    documents.iter().fold(Condition::any(), |any, document| {
        let has_time = match document.indexed_at {
            Some(at) => document::Column::IndexedAt.eq(at),
            None => document::Column::IndexedAt.is_null(),
        };
        any.add(Condition::all().add(document::Column::Id.eq(document.id)).add(has_time))
    })
}

/// Enqueues lost documents again that have no job. Without a model, only those that lack more than their vectors. Skips documents
/// whose job was given up since they were lost: it would fail again.
pub async fn enqueue_lost(db: &Db, has_model: bool, now: Timestamp) -> Result<(), Error> {
    let mut lost = document::Entity::lost_by_index();
    if !has_model {
        lost = lost.filter(document::Column::IndexedVersion.eq(0));
    }
    let given_up =
        given_up_jobs().and_where(Expr::cust("job.finished_at >= document.index_lost_at")).to_owned();
    let lost = lost
        // A document whose job waits or runs is restored by that.
        .filter(jobs::has_no_pending_job_of([JobKind::Index.name()]))
        .filter(Expr::not_exists(given_up))
        .select_only()
        .column(document::Column::UserId)
        .column(document::Column::Id)
        .limit(ENQUEUED_DOCUMENTS)
        .into_tuple::<(UserId, DocumentId)>();
    enqueue_by_owner(db, lost.all(db.read()).await?, now).await
}

/// Enqueues documents with the priority of a backlog, those of each user in one transaction.
pub(super) async fn enqueue_by_owner(
    db: &Db,
    documents: Vec<(UserId, DocumentId)>,
    now: Timestamp,
) -> Result<(), Error> {
    for (user, ids) in group_by_user(documents) {
        let txn = begin_owned(db, user).await?;
        enqueue(&txn, user, ids, now).await?;
        txn.commit().await?;
    }
    Ok(())
}

async fn enqueue(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: Vec<DocumentId>,
    now: Timestamp,
) -> Result<(), DbErr> {
    let subjects = ids.into_iter().map(|id| id.0);
    jobs::enqueue_all(txn, user, JobKind::Index, subjects, Priority::Backlog, now).await
}
