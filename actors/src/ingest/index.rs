//! Puts the passages of a document into the index. A document is ready once they are in it.

use concurrency::Lane;
use entity::{bookmark, chunk, document, job};
use errors::Error;
use jobs::{JobError, JobKind, Priority};
use library::context::CoreContext;
use library::owned_transaction::{begin_owned, finish_job};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter};
use uuid::Uuid;
use values::id::{DocumentId, UserId};
use values::kind::{BudgetGroup, DocumentStatus};

use super::index_removal;
use super::index_state::{IndexState, is_words_only};
use super::index_turn::IndexTurn;
use super::indexing_context::IndexingContext;
use super::next_vectors::{AddVectorsOutcome, EmbeddedPassages, add_next_vectors};
use super::passage_embedding::{model_use, prepend_title};
use super::point_source::PointSource;
use super::postponed_vectors::{can_postpone_vectors, postpone_vectors};
use crate::ai::budget;
use crate::retrieval::{Annotations, EmbedOutcome, MetadataSource, PassageBatch, Vectors, labels_of};

/// Passages that are indexed with the priority of the job: a long chapter. The rest of a book joins the backlog.
const MAX_PRIORITY_PASSAGES: i32 = 256;

/// Runs a job of kind [`JobKind::Index`]: indexes the passages of its next turn. Search finds the passages of the previous
/// version until the last of the new ones is in the index.
///
/// # Errors
/// [`JobError::LeaseLost`] when another worker has the job; [`JobError::Internal`] when the database, the model or the index fails.
pub async fn run(ctx: &IndexingContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    let own = document::Entity::with_hidden(job.user_id).filter(document::Column::Id.eq(id));
    let document = own.one(ctx.core.db.read()).await?;
    let Some(document) = document.filter(|document| document.hidden_at.is_none()) else {
        return finish_removed(ctx, job, id).await;
    };
    if document.version == 0 {
        // It has no text, so it is not ready. Its metadata passage needs no job.
        finish_job(&ctx.core.db, job, ctx.core.clock.now()).await?;
        return Ok(());
    }
    let turn = IndexTurn::load(ctx, job, document).await?;
    if ctx.retrieval.engine().lacks_next_vectors_only(&turn.document) {
        add_next_turn(ctx, job, turn).await
    } else {
        index_turn(ctx, job, turn).await
    }
}

/// Ends the job of a document that was hidden or deleted since it was enqueued. Passages of an earlier attempt may be in the index.
async fn finish_removed(ctx: &IndexingContext, job: &job::Model, id: DocumentId) -> Result<(), JobError> {
    index_removal::record_removal(&ctx.core, job.user_id, [id]).await?;
    ctx.retrieval.delete_document(job.user_id, id).await?;
    finish_job(&ctx.core.db, job, ctx.core.clock.now()).await?;
    Ok(())
}

/// Adds the vectors of the next model to passages that the index has.
async fn add_next_turn(ctx: &IndexingContext, job: &job::Model, turn: IndexTurn) -> Result<(), JobError> {
    let embedded =
        EmbeddedPassages { document: &turn.document, passages: &turn.passages, last: !turn.has_more };
    match add_next_vectors(ctx, job.user_id, &[embedded]).await? {
        AddVectorsOutcome::Added { model } if !turn.follows_turns_without(job, Some(&model)) => {
            end_turn(ctx, job, &turn, Some(model)).await
        }
        // From its first passage on.
        AddVectorsOutcome::Added { .. } | AddVectorsOutcome::NeedsFullIndexing => {
            yield_turn(ctx, job, 0).await
        }
    }
}

/// Puts passages into the index, and with the last ones the metadata passage.
async fn index_turn(ctx: &IndexingContext, job: &job::Model, mut turn: IndexTurn) -> Result<(), JobError> {
    let metadata = if turn.has_more { None } else { load_metadata(&ctx.core, &turn.document).await? };
    let vectors = embed_turn(ctx, job, &mut turn).await?;
    let model = vectors.as_ref().map(|vectors| vectors.model.clone());
    if turn.follows_turns_without(job, model.as_ref()) {
        // Before the last passages replace those of the former version.
        return yield_turn(ctx, job, 0).await;
    }
    upsert_turn(ctx, job, &mut turn, vectors, metadata).await?;
    end_turn(ctx, job, &turn, model).await
}

/// Embeds the passages of a turn, and charges that; `None` if they get no vectors now.
async fn embed_turn(
    ctx: &IndexingContext,
    job: &job::Model,
    turn: &mut IndexTurn,
) -> Result<Option<Vectors>, JobError> {
    if is_words_only(&turn.document) {
        return Ok(None);
    }
    let title = &turn.document.title;
    let texts = turn.passages.iter().map(|row| prepend_title(title, &row.text)).collect();
    let engine = ctx.retrieval.engine();
    let embedded = if turn.is_one_of_several(job) {
        // With one model alone: the next one may fail in some of the turns. Its vectors are added by another job.
        engine.embed_with_one(texts).await?
    } else {
        engine.embed(texts).await?
    };
    match embedded {
        EmbedOutcome::Embedded(vectors) => {
            // Charge the tokens even if the job fails later: the model has used them.
            let (month, spent) = (ctx.core.clock.now().month(), model_use(&vectors));
            budget::spend(ctx.core.db.write(), job.user_id, month, BudgetGroup::Embedding, spent).await?;
            Ok(Some(vectors))
        }
        EmbedOutcome::WithoutModel => Ok(None),
        EmbedOutcome::Unavailable { .. } if can_postpone_vectors(&turn.document) => {
            postpone_vectors(&ctx.core, job.user_id, vec![&mut turn.document]).await?;
            Ok(None)
        }
        EmbedOutcome::Unavailable { retry_after } => Err(Error::Busy(retry_after).into()),
    }
}

/// Adds the passages of a turn to the index, which takes them out of the turn.
async fn upsert_turn(
    ctx: &IndexingContext,
    job: &job::Model,
    turn: &mut IndexTurn,
    vectors: Option<Vectors>,
    metadata: Option<MetadataSource>,
) -> Result<(), JobError> {
    let (user, document, last) = (job.user_id, turn.document.id, !turn.has_more);
    let passages = std::mem::take(&mut turn.passages);
    let source = PointSource::of(&turn.document, labels_of(&turn.document), passages, metadata);
    let version = source.version;
    let mut vectors = vectors.map(|vectors| vectors.vectors).unwrap_or_default().into_iter();
    let points = ctx.core.workers.run(Lane::Background, move || source.into_points(&mut vectors)).await?;
    // Before the row says that the passages are there: a crash in between repeats the turn, and points with the same
    // ids replace each other.
    ctx.retrieval.upsert_passages(PassageBatch { user, document, version, points, last }).await?;
    if last && job.progress > 0 {
        // An entry may have become a bookmark since the former turns, which gave their passages the labels of then.
        ctx.retrieval.update_labels(user, document, labels_of(&turn.document)).await?;
    }
    if last {
        remove_former_metadata(ctx, [&turn.document]).await?;
    }
    Ok(())
}

/// Ends a turn that put passages with vectors of `model`, or without vectors, into the index: ends the job with the last one.
async fn end_turn(
    ctx: &IndexingContext,
    job: &job::Model,
    turn: &IndexTurn,
    model: Option<String>,
) -> Result<(), JobError> {
    if turn.has_more {
        turn.record_model(ctx, model).await?;
        return yield_turn(ctx, job, turn.next).await;
    }
    let has_model = ctx.retrieval.engine().has_model();
    let state = IndexState::of_indexed(&turn.document, turn.next, model, has_model);
    finish(ctx, job, &turn.document, &state).await
}

/// Ends the turn of a job whose next turn begins with the passage `next`.
async fn yield_turn(ctx: &IndexingContext, job: &job::Model, next: i32) -> Result<(), JobError> {
    // The passages of a long document beyond the maximum have the priority of the backlog.
    let priority = if next < MAX_PRIORITY_PASSAGES { Priority::of(job) } else { Priority::Backlog };
    // It ends if the same job was requested meanwhile.
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    jobs::yield_job(&txn, job, next, priority, ctx.core.clock.now()).await?;
    if priority != Priority::of(job) {
        // Its metadata is not left to a job of the backlog, which may wait for hours.
        document::Entity::update_owned(job.user_id)
            .col_expr(document::Column::AwaitsIndexJob, Expr::value(false))
            .filter(document::Column::Id.eq(DocumentId(job.subject)))
            .filter(document::Column::AwaitsIndexJob.eq(true))
            .exec(&txn)
            .await?;
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

/// Ends the job and marks the document as ready, unless a newer text was stored meanwhile: then the job of that text marks it.
async fn finish(
    ctx: &IndexingContext,
    job: &job::Model,
    document: &document::Model,
    state: &IndexState,
) -> Result<(), JobError> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    if !jobs::finish(&txn, job, now).await? {
        if is_deleted(&txn, job.user_id, document.id).await? {
            // The account was removed meanwhile, and its jobs with it.
            drop(txn);
            ctx.retrieval.delete_document(job.user_id, document.id).await?;
            return Err(JobError::LeaseLost);
        }
        // This attempt may have replaced the passages of a newer version, so the document is indexed again.
        jobs::enqueue(&txn, job.user_id, JobKind::Index, job.subject, Priority::Now, now).await?;
        txn.commit().await?;
        return Err(JobError::LeaseLost);
    }
    // A bookmark that was ready and stays ready has not changed for clients that ask for changes.
    if document.status != DocumentStatus::Ready || document.error.is_some() {
        // Lock order: bookmark before document, as its deletion does. This prevents a deadlock.
        bookmark::Entity::touch_for_document(&txn, job.user_id, document.id, now).await?;
    }
    let is_current = state.write(&txn, job.user_id, &[document.id], now).await?;
    let is_deleted = !is_current && is_deleted(&txn, job.user_id, document.id).await?;
    // The rows of the former version are kept until here, because search results of its passages are read from them.
    chunk::Entity::delete_owned(job.user_id)
        .filter(chunk::Column::DocumentId.eq(document.id))
        .filter(chunk::Column::Version.lt(document.version))
        .exec(&txn)
        .await?;
    let engine = ctx.retrieval.engine();
    let lacks_vectors =
        state.awaits_vectors(engine.has_model()) || engine.lacks_next_vectors(state.model.as_deref());
    if lacks_vectors && is_current {
        // After the words of all other documents. Without a model, its loading enqueues the vectors.
        jobs::enqueue(&txn, job.user_id, JobKind::Index, job.subject, Priority::Backlog, now).await?;
    }
    txn.commit().await?;
    if is_deleted {
        // The feed was unfollowed meanwhile, and this attempt added passages after those of the document were removed.
        ctx.retrieval.delete_document(job.user_id, document.id).await?;
    }
    Ok(())
}

/// Returns whether a document has been deleted.
pub(super) async fn is_deleted(
    db: &impl ConnectionTrait,
    user: UserId,
    id: DocumentId,
) -> Result<bool, Error> {
    let row = document::Entity::with_hidden(user).filter(document::Column::Id.eq(id)).one(db).await?;
    Ok(row.is_none())
}

/// Loads what the metadata passage of a document is made from; `None` if it has no such passage.
async fn load_metadata(
    core: &CoreContext,
    document: &document::Model,
) -> Result<Option<MetadataSource>, Error> {
    let mut annotations = Annotations::load(&core.db, document.user_id, &[document]).await?;
    Ok(MetadataSource::of(document, &mut annotations))
}

/// Removes the metadata passages that documents had and do not have any more: those of entries that got a text, or were bookmarks.
pub(super) async fn remove_former_metadata(
    ctx: &IndexingContext,
    documents: impl IntoIterator<Item = &document::Model>,
) -> Result<(), Error> {
    let is_former = |row: &&document::Model| row.has_metadata_point && !row.has_metadata_passage();
    let former: Vec<Uuid> = documents.into_iter().filter(is_former).map(|row| row.id.0).collect();
    if former.is_empty() { Ok(()) } else { ctx.retrieval.delete_passages(former).await }
}

/// Stops expecting a document in the index whose job was given up: its row says why, and
/// search does not stay degraded for it.
pub async fn give_up(db: &impl ConnectionTrait, job: &job::Model) -> Result<(), DbErr> {
    document::Entity::update_owned(job.user_id)
        .col_expr(document::Column::IndexLostAt, Expr::value(None::<i64>))
        .filter(document::Column::Id.eq(DocumentId(job.subject)))
        .exec(db)
        .await
        .map(drop)
}
