//! Removes documents from the index that are not visible any more.

use entity::{document, job};
use errors::Error;
use jobs::JobError;
use library::context::CoreContext;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use values::id::{DocumentId, UserId};

use super::indexing_context::IndexingContext;

/// Runs a job of kind [`JobKind::RemoveFromIndex`](jobs::JobKind::RemoveFromIndex).
/// A document that was restored meanwhile stays.
///
/// # Errors
/// [`JobError::Internal`] when the database or the index fails.
pub async fn run(ctx: &IndexingContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    if document::Entity::one_visible_to(job.user_id, id).one(ctx.core.db.read()).await?.is_none() {
        record_removal(&ctx.core, job.user_id, [id]).await?;
        ctx.retrieval.delete_document(job.user_id, id).await?;
    }
    jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
    Ok(())
}

/// Records that the index is not to hold these documents. Called before they are removed from it, so that the index never
/// holds less than the rows say.
pub async fn record_removal(
    core: &CoreContext,
    user: UserId,
    documents: impl IntoIterator<Item = DocumentId>,
) -> Result<(), Error> {
    let txn = begin_owned(&core.db, user).await?;
    document::Entity::update_owned(user)
        .col_expr(document::Column::IndexedVersion, Expr::value(0))
        .col_expr(document::Column::IndexedPoints, Expr::value(0))
        .col_expr(document::Column::HasMetadataPoint, Expr::value(false))
        .col_expr(document::Column::EmbeddingModel, Expr::value(None::<String>))
        .col_expr(document::Column::IndexLostAt, Expr::value(None::<i64>))
        .filter(document::Column::Id.is_in(documents))
        .exec(&txn)
        .await?;
    Ok(txn.commit().await?)
}
