//! Enqueues the index jobs of many documents again: of all, or of those that lack the vectors of a model. It writes only
//! jobs and rows, so the command line may run it while the server runs. The newest documents come first.

use database::{Db, padded};
use entity::document;
use errors::Error;
use jobs::{JobKind, Priority};
use library::documents::mark_unindexed;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, QueryFilter, QueryOrder, QuerySelect};
use values::groups::group_by_user;
use values::id::DocumentId;
use values::time::Timestamp;

/// Documents whose jobs are enqueued at a time, with one transaction for each of their users.
const BATCH_DOCUMENTS: u64 = 500;

/// Enqueues every document that has a text, and has the metadata of the others indexed again. Returns the number of documents.
pub async fn enqueue_all(db: &Db, now: Timestamp) -> Result<u64, Error> {
    enqueue_matching(db, Condition::all(), ReindexScope::AllPassages, now).await
}

/// What a job of a document is enqueued for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReindexScope {
    /// Its passages are put into the index again. During a change of models it would otherwise only get the vectors of the next one.
    AllPassages,
    /// The vectors that the index lacks of its passages are added.
    MissingVectors,
}

/// Enqueues every document with a text whose vectors are not of this model. Returns the number of documents.
pub async fn enqueue_missing_vectors(db: &Db, model: &str, now: Timestamp) -> Result<u64, Error> {
    let has_no_vectors_of_model = Condition::any()
        .add(document::Column::EmbeddingModel.is_null())
        .add(document::Column::EmbeddingModel.ne(model));
    let with_text = Condition::all().add(document::Column::Version.gt(0)).add(has_no_vectors_of_model);
    enqueue_matching(db, with_text, ReindexScope::MissingVectors, now).await
}

async fn enqueue_matching(
    db: &Db,
    condition: Condition,
    scope: ReindexScope,
    now: Timestamp,
) -> Result<u64, Error> {
    let (mut before, mut enqueued) = (None, 0);
    loop {
        let mut query = document::Entity::visible_of_every_user().filter(condition.clone());
        if let Some(before) = before {
            query = query.filter(document::Column::Id.lt(before));
        }
        // The newest first, because users search for what they saved last.
        let batch = query.order_by_desc(document::Column::Id).limit(BATCH_DOCUMENTS).all(db.read()).await?;
        let Some(last) = batch.last() else { return Ok(enqueued) };
        before = Some(last.id);
        enqueued += batch.len() as u64;
        let by_user = group_by_user(batch.iter().map(|document| (document.user_id, document)));
        // In short transactions: one for all users would keep their requests waiting for it.
        for (user, documents) in by_user {
            let (with_text, without): (Vec<_>, Vec<_>) =
                documents.into_iter().partition(|document| document.version > 0);
            let without: Vec<DocumentId> = without.into_iter().map(|document| document.id).collect();
            let with_text: Vec<DocumentId> = with_text.into_iter().map(|document| document.id).collect();
            let texts = with_text.iter().map(|id| id.0);
            let txn = begin_owned(db, user).await?;
            if scope == ReindexScope::AllPassages && !with_text.is_empty() {
                document::Entity::update_owned(user)
                    .col_expr(document::Column::EmbeddingModel, Expr::value(None::<String>))
                    .filter(document::Column::Id.is_in(padded(&with_text)))
                    // What the index lost is restored as a whole anyway.
                    .filter(document::Column::IndexLostAt.is_null())
                    .exec(&txn)
                    .await?;
            }
            jobs::enqueue_all(&txn, user, JobKind::Index, texts, Priority::Backlog, now).await?;
            mark_unindexed(&txn, user, &without, now).await?;
            txn.commit().await?;
        }
    }
}
