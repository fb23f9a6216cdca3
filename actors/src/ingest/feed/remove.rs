//! Deletes the documents of a feed that is no longer followed, from the index and from the database. They are hidden already.

use entity::{bookmark, document, job};
use jobs::JobError;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect, QueryTrait};
use values::id::FeedId;

use crate::ingest::index_removal::record_removal;
use crate::ingest::indexing_context::IndexingContext;

/// Documents that are deleted in one transaction.
const BATCH_ROWS: u64 = 100;

/// Runs a job of kind [`JobKind::RemoveFeed`](jobs::JobKind::RemoveFeed).
///
/// # Errors
/// [`JobError::Internal`] when the index fails.
pub async fn run(ctx: &IndexingContext, job: &job::Model) -> Result<(), JobError> {
    // A document that was bookmarked while the feed was removed stays, whatever its row says of the feed.
    let document_of_bookmark = Expr::col((bookmark::Entity, bookmark::Column::DocumentId));
    let bookmarked = bookmark::Entity::with_deleted(job.user_id)
        .filter(document_of_bookmark.equals((document::Entity, document::Column::Id)))
        .select_only()
        .column(bookmark::Column::Id)
        .into_query();
    let unfollowed = document::Entity::with_hidden(job.user_id)
        .filter(document::Column::FeedId.eq(FeedId(job.subject)))
        .filter(document::Column::HiddenAt.is_not_null())
        .filter(Expr::exists(bookmarked).not());
    loop {
        let batch = unfollowed.clone().limit(BATCH_ROWS).all(ctx.core.db.read()).await?;
        if batch.is_empty() {
            break;
        }
        // Rows, then passages, then the deletion of the rows: a job that is interrupted finds the same documents again.
        record_removal(&ctx.core, job.user_id, batch.iter().map(|document| document.id)).await?;
        for document in &batch {
            ctx.retrieval.delete_document(job.user_id, document.id).await?;
        }
        let ids = batch.iter().map(|document| document.id);
        let txn = begin_owned(&ctx.core.db, job.user_id).await?;
        document::Entity::delete_owned(job.user_id)
            .filter(document::Column::Id.is_in(ids))
            .exec(&txn)
            .await?;
        txn.commit().await?;
    }
    jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
    Ok(())
}
