//! Takes what is out of sight out of the index.

use entity::id::{DocumentId, UserId};
use entity::{document, job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};

use super::attempt::JobError;
use super::queue;
use crate::ingest::context::IngestContext;
use errors::Error;
use library::owned_transaction::begin_owned;
use crate::service_state::{self, ServiceStateKey};

/// Runs the job: a document that came back meanwhile stays.
pub async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    if document::Entity::one_of(job.user_id, id).one(ctx.core.db.read()).await?.is_none() {
        unlist(ctx, job.user_id, [id]).await?;
        ctx.retrieval.forget(job.user_id, id).await?;
    }
    jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
    Ok(())
}

/// Writes down that the index is not to hold these documents. Before they are taken out, so that the index never holds
/// less than the rows say.
///
/// # Errors
/// The database fails.
pub async fn unlist(
    ctx: &IngestContext,
    user: UserId,
    documents: impl IntoIterator<Item = DocumentId>,
) -> Result<(), Error> {
    let txn = begin_owned(&ctx.core.db, user).await?;
    document::Entity::update_many()
        .col_expr(document::Column::IndexedVersion, Expr::value(0))
        .col_expr(document::Column::IndexedPassages, Expr::value(0))
        .col_expr(document::Column::VectorsOf, Expr::value(None::<String>))
        .col_expr(document::Column::IndexLostAt, Expr::value(None::<i64>))
        .filter(document::Column::UserId.eq(user))
        .filter(document::Column::Id.is_in(documents))
        .exec(&txn)
        .await?;
    Ok(txn.commit().await?)
}

/// Takes users out whose accounts were removed: their rows are gone, so the mark stands for itself.
pub async fn removed_users(ctx: &IngestContext) -> Result<(), Error> {
    if !ctx.index_watch.is_maintainer() {
        return Ok(());
    }
    for user in service_state::removed_users(ctx.core.db.read()).await? {
        ctx.retrieval.forget_user(user).await?;
        service_state::forget(ctx.core.db.write(), ServiceStateKey::RemovedUser(user)).await?;
    }
    Ok(())
}
