//! Puts the passages of many short documents of a user into the index, with one change of it.

use database::padded;
use std::collections::HashMap;

use concurrency::Lane;
use entity::{chunk, document, job};
use errors::Error;
use jobs::JobError;
use library::context::CoreContext;
use library::documents::MAX_SHORT_TEXT_LENGTH;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use values::groups::{GroupBounds, group_by_size};
use values::id::{DocumentId, UserId};
use values::kind::BudgetGroup;

use super::completion::{CompletedDocument, finish};
use crate::ai::budget;
use crate::ingest::index::remove_former_metadata;
use crate::ingest::index_state::is_words_only;
use crate::ingest::indexing_context::IndexingContext;
use crate::ingest::next_vectors::{AddVectorsOutcome, EmbeddedPassages, add_next_vectors};
use crate::ingest::passage_embedding::{model_use, prepend_title};
use crate::ingest::point_source::PointSource;
use crate::ingest::postponed_vectors::{can_postpone_vectors, postpone_vectors};
use crate::retrieval::{Annotations, EmbedOutcome, MetadataSource, PassageBatch, Vectors, labels_of};

/// Texts that are in memory at the same time, by their characters. Their number is that of the jobs of a batch at most.
const GROUP_BOUNDS: GroupBounds = GroupBounds { max_items: usize::MAX, max_size: 1 << 20 };
/// Passages that are indexed together without a model: tens of milliseconds for the index.
const MAX_PASSAGES: usize = 512;
/// Passages that are embedded together: enough to fill the matrices of the model, and seconds of work, as a turn of a long document.
const MAX_EMBEDDED_PASSAGES: usize = 48;

/// A document whose passages are stored and to be put into the index, with the job that does it.
pub(super) struct PendingDocument {
    /// The leased job.
    pub(super) job: job::Model,
    /// The document, with the version of these passages.
    pub(super) document: document::Model,
    /// All passages of that version, in order.
    pub(super) passages: Vec<chunk::Model>,
}

/// Indexes the short documents of these jobs, whose texts are stored. Jobs of others, and of hidden ones, stay as they are.
///
/// # Errors
/// The same as [`index`].
pub(super) async fn index_stored(
    ctx: &IndexingContext,
    user: UserId,
    jobs: Vec<job::Model>,
) -> Result<(), JobError> {
    if jobs.is_empty() {
        return Ok(());
    }
    let ids: Vec<DocumentId> = jobs.iter().map(|job| DocumentId(job.subject)).collect();
    let mut jobs: HashMap<DocumentId, job::Model> = ids.iter().copied().zip(jobs).collect();
    let short = document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(&ids)))
        .filter(document::Column::Version.gt(0))
        .filter(document::Column::TotalChars.lte(MAX_SHORT_TEXT_LENGTH))
        .all(ctx.core.db.read())
        .await?;
    let sized = short.into_iter().map(|row| {
        let chars = u64::from(row.total_chars.unsigned_abs());
        (row, chars)
    });
    for documents in group_by_size(sized, GROUP_BOUNDS) {
        let mut passages = load_passages(&ctx.core, user, &documents).await?;
        let pending = documents.into_iter().filter_map(|document| {
            let passages = passages.remove(&document.id).unwrap_or_default();
            Some(PendingDocument { job: jobs.remove(&document.id)?, document, passages })
        });
        let lacks_next_vectors_only =
            |pending: &PendingDocument| ctx.retrieval.engine().lacks_next_vectors_only(&pending.document);
        let (outdated, pending): (Vec<_>, Vec<_>) = pending.partition(lacks_next_vectors_only);
        for group in group_by_passages(pending, max_passages(ctx)) {
            index_group(ctx, user, group).await?;
        }
        for group in group_by_passages(outdated, MAX_EMBEDDED_PASSAGES) {
            add_vectors(ctx, user, group).await?;
        }
    }
    Ok(())
}

/// Returns the passages of the documents' versions, those of each in order.
async fn load_passages(
    core: &CoreContext,
    user: UserId,
    documents: &[document::Model],
) -> Result<HashMap<DocumentId, Vec<chunk::Model>>, Error> {
    let versions: HashMap<DocumentId, i32> = documents.iter().map(|row| (row.id, row.version)).collect();
    let ids: Vec<DocumentId> = documents.iter().map(|row| row.id).collect();
    let rows = chunk::Entity::owned_by(user)
        .filter(chunk::Column::DocumentId.is_in(padded(&ids)))
        .order_by_asc(chunk::Column::DocumentId)
        .order_by_asc(chunk::Column::Version)
        .order_by_asc(chunk::Column::Ordinal)
        .all(core.db.read())
        .await?;
    let mut passages: HashMap<DocumentId, Vec<chunk::Model>> = HashMap::new();
    for row in rows {
        // The passages of the former version are kept until the new ones are indexed.
        if versions.get(&row.document_id) == Some(&row.version) {
            passages.entry(row.document_id).or_default().push(row);
        }
    }
    Ok(passages)
}

/// Puts the passages of a user's documents into the index, and ends their jobs.
///
/// # Errors
/// [`JobError::LeaseLost`] when another worker has one of the jobs, or a document changed meanwhile; [`JobError::Internal`] when the
/// database, the model or the index fails.
pub(super) async fn index(
    ctx: &IndexingContext,
    user: UserId,
    documents: Vec<PendingDocument>,
) -> Result<(), JobError> {
    for group in group_by_passages(documents, max_passages(ctx)) {
        index_group(ctx, user, group).await?;
    }
    Ok(())
}

/// Returns the number of passages that are indexed together.
fn max_passages(ctx: &IndexingContext) -> usize {
    if ctx.retrieval.engine().has_model() { MAX_EMBEDDED_PASSAGES } else { MAX_PASSAGES }
}

/// Groups documents, in their order, so that a group has at most this many passages, or one document.
fn group_by_passages(documents: Vec<PendingDocument>, max_passages: usize) -> Vec<Vec<PendingDocument>> {
    let (mut groups, mut group, mut passages) = (Vec::new(), Vec::new(), 0);
    for document in documents {
        if !group.is_empty() && passages + document.passages.len() > max_passages {
            groups.push(std::mem::take(&mut group));
            passages = 0;
        }
        passages += document.passages.len();
        group.push(document);
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}

/// Adds the vectors of the next model to documents that the index has, and ends their jobs. Jobs of documents of which the index lacks
/// passages stay as they are.
async fn add_vectors(
    ctx: &IndexingContext,
    user: UserId,
    documents: Vec<PendingDocument>,
) -> Result<(), JobError> {
    let embedded: Vec<EmbeddedPassages<'_>> = documents
        .iter()
        .map(|PendingDocument { document, passages, .. }| EmbeddedPassages { document, passages, last: true })
        .collect();
    let added = add_next_vectors(ctx, user, &embedded).await?;
    let AddVectorsOutcome::Added { model } = added else { return Ok(()) };
    let indexed = documents.into_iter().map(|PendingDocument { job, document, passages }| {
        let passages = passages.last().map_or(0, |last| last.ordinal.saturating_add(1));
        CompletedDocument { job, document, model: Some(model.clone()), passages }
    });
    finish(ctx, user, &indexed.collect::<Vec<_>>()).await
}

async fn index_group(
    ctx: &IndexingContext,
    user: UserId,
    mut documents: Vec<PendingDocument>,
) -> Result<(), JobError> {
    let rows: Vec<&document::Model> = documents.iter().map(|pending| &pending.document).collect();
    let mut annotations = Annotations::load(&ctx.core.db, user, &rows).await?;
    let vectors = match embed(ctx, &documents).await? {
        EmbedOutcome::Embedded(vectors) => Some(vectors),
        EmbedOutcome::WithoutModel => None,
        EmbedOutcome::Unavailable { .. } => {
            // The others are left to jobs that run alone, which wait for their vectors.
            documents.retain(|pending| can_postpone_vectors(&pending.document));
            let postponed = documents.iter_mut().map(|pending| &mut pending.document).collect();
            postpone_vectors(&ctx.core, user, postponed).await?;
            None
        }
    };
    if documents.is_empty() {
        return Ok(());
    }
    let model = vectors.as_ref().map(|vectors| vectors.model.clone());
    let spent = vectors.as_ref().map(model_use);
    let (mut indexed, mut sources) = (Vec::with_capacity(documents.len()), Vec::new());
    for PendingDocument { job, document, passages } in documents {
        let metadata = MetadataSource::of(&document, &mut annotations);
        let count = passages.last().map_or(0, |last| last.ordinal.saturating_add(1));
        sources.push(PointSource::of(&document, labels_of(&document), passages, metadata));
        let model = model.clone().filter(|_| !is_words_only(&document));
        indexed.push(CompletedDocument { job, document, model, passages: count });
    }
    let batches =
        ctx.core.workers.run(Lane::Background, move || build_batches(user, sources, vectors)).await?;
    // Before the rows say that the passages are there: a crash in between repeats this, and points with the same ids replace each other.
    ctx.retrieval.upsert_documents(user, batches).await?;
    remove_former_metadata(ctx, indexed.iter().map(|indexed| &indexed.document)).await?;
    if let Some(spent) = spent {
        // Charge the tokens even if the jobs fail later: the model has used them.
        let month = ctx.core.clock.now().month();
        budget::spend(ctx.core.db.write(), user, month, BudgetGroup::Embedding, spent).await?;
    }
    finish(ctx, user, &indexed).await
}

/// Embeds the passages of all documents that get vectors, in order. If none of the documents does, no model is needed.
async fn embed(ctx: &IndexingContext, documents: &[PendingDocument]) -> Result<EmbedOutcome, Error> {
    if documents.iter().all(|pending| is_words_only(&pending.document)) {
        return Ok(EmbedOutcome::WithoutModel);
    }
    let with_vectors = documents.iter().filter(|pending| !is_words_only(&pending.document));
    let texts = with_vectors.flat_map(|pending| {
        pending.passages.iter().map(|row| prepend_title(&pending.document.title, &row.text))
    });
    // Also of documents without passages: their rows are to name the model, or they would be enqueued for it again and again.
    ctx.retrieval.engine().embed(texts.collect()).await
}

/// Makes the points of all documents. Blocks. The vectors are those of the documents that have vectors, in order.
fn build_batches(user: UserId, sources: Vec<PointSource>, vectors: Option<Vectors>) -> Vec<PassageBatch> {
    let mut vectors = vectors.map(|vectors| vectors.vectors).unwrap_or_default().into_iter();
    let to_batch = |source: PointSource| {
        let (document, version) = (source.id, source.version);
        PassageBatch { user, document, version, points: source.into_points(&mut vectors), last: true }
    };
    sources.into_iter().map(to_batch).collect()
}
