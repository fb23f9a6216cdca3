//! After a feed was left: takes its documents out of the index and away. They are out of sight already.

use entity::id::FeedId;
use entity::{bookmark, document, job};
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QuerySelect, QueryTrait};

use crate::ingest::context::IngestContext;
use crate::ingest::attempt::JobError;
use crate::ingest::forget;
use library::owned_transaction::begin_owned;

const AT_ONCE: u64 = 100;

/// Runs the job.
pub async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    // What somebody saved at the moment of leaving stays, whatever mark it bears.
    let saved = bookmark::Entity::with_deleted(job.user_id)
        .select_only()
        .column(bookmark::Column::DocumentId)
        .into_query();
    let left = document::Entity::of(job.user_id)
        .filter(document::Column::FeedId.eq(FeedId(job.subject)))
        .filter(document::Column::HiddenAt.is_not_null())
        .filter(document::Column::Id.not_in_subquery(saved));
    loop {
        let some = left.clone().limit(AT_ONCE).all(ctx.core.db.read()).await?;
        if some.is_empty() {
            break;
        }
        forget::unlist(ctx, job.user_id, some.iter().map(|document| document.id)).await?;
        for document in &some {
            ctx.retrieval.forget(job.user_id, document.id).await?;
        }
        let gone = some.iter().map(|document| document.id);
        let txn = begin_owned(&ctx.core.db, job.user_id).await?;
        document::Entity::delete_many()
            .filter(document::Column::UserId.eq(job.user_id))
            .filter(document::Column::Id.is_in(gone))
            .exec(&txn)
            .await?;
        txn.commit().await?;
    }
    jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
    Ok(())
}
