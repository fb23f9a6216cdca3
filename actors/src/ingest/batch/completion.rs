//! Marks many documents as ready whose passages are in the index, and ends their jobs.

use database::padded;
use entity::{bookmark, chunk, document, job};
use jobs::{JobError, JobKind, Priority};
use library::owned_transaction::begin_owned;
use sea_orm::{ColumnTrait, QueryFilter};
use values::id::{DocumentId, UserId};
use values::kind::DocumentStatus;
use values::time::Timestamp;

use crate::ingest::index::is_deleted;
use crate::ingest::index_state::IndexState;
use crate::ingest::indexing_context::IndexingContext;

/// A document whose passages are in the index.
pub(super) struct CompletedDocument {
    /// The leased job.
    pub(super) job: job::Model,
    /// The document, with the version of the passages.
    pub(super) document: document::Model,
    /// The model that made the vectors; none if there are no vectors.
    pub(super) model: Option<String>,
    /// The number of its passages.
    pub(super) passages: i32,
}

/// Ends the jobs and marks their documents as ready, in one transaction.
///
/// # Errors
/// [`JobError::LeaseLost`] when another worker has one of the jobs, or a document changed meanwhile; [`JobError::Internal`] when the
/// database fails. Nothing is written then.
pub(super) async fn finish(
    ctx: &IndexingContext,
    user: UserId,
    indexed: &[CompletedDocument],
) -> Result<(), JobError> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, user).await?;
    let jobs: Vec<&job::Model> = indexed.iter().map(|indexed| &indexed.job).collect();
    if !jobs::finish_all(&txn, user, &jobs, now).await? {
        drop(txn);
        repair_lost(ctx, user, &jobs, now).await?;
        return Err(JobError::LeaseLost);
    }
    // A bookmark that was ready and stays ready has not changed for clients that ask for changes.
    let is_changed = |row: &&document::Model| row.status != DocumentStatus::Ready || row.error.is_some();
    let changed = indexed.iter().map(|indexed| &indexed.document).filter(is_changed).map(|row| row.id);
    let changed: Vec<DocumentId> = changed.collect();
    // Lock order: bookmark before document, as its deletion does. This prevents a deadlock.
    bookmark::Entity::touch_for_documents(&txn, user, padded(&changed), now).await?;
    for (state, documents) in group_by_state(ctx, indexed) {
        if !state.write(&txn, user, &documents, now).await? {
            // A newer text was stored, or a document deleted, meanwhile. Its job finds that out when it runs alone.
            return Err(JobError::LeaseLost);
        }
        if state.awaits_vectors(ctx.retrieval.engine().has_model()) {
            // After the words of all other documents. Without a model, its loading enqueues the vectors.
            let subjects = documents.iter().map(|id| id.0);
            jobs::enqueue_all(&txn, user, JobKind::Index, subjects, Priority::Backlog, now).await?;
        }
    }
    for row in indexed.iter().map(|indexed| &indexed.document).filter(|row| row.version > 1) {
        // The rows of the former version are kept until here, because search results of its passages are read from them.
        chunk::Entity::delete_owned(user)
            .filter(chunk::Column::DocumentId.eq(row.id))
            .filter(chunk::Column::Version.lt(row.version))
            .exec(&txn)
            .await?;
    }
    Ok(txn.commit().await?)
}

/// Groups documents whose rows get the same values: most short documents have one passage, and their first version.
fn group_by_state(
    ctx: &IndexingContext,
    indexed: &[CompletedDocument],
) -> Vec<(IndexState, Vec<DocumentId>)> {
    let has_model = ctx.retrieval.engine().has_model();
    let mut groups: Vec<(IndexState, Vec<DocumentId>)> = Vec::new();
    for CompletedDocument { document, model, passages, .. } in indexed {
        let state = IndexState::of_indexed(document, *passages, model.clone(), has_model);
        match groups.iter_mut().find(|(known, _)| *known == state) {
            Some((_, documents)) => documents.push(document.id),
            None => groups.push((state, vec![document.id])),
        }
    }
    groups
}

/// Corrects the index for the documents whose jobs this attempt has lost after it added their passages: those of a removed account leave
/// it, and others, of which this attempt may have replaced newer passages, are indexed again.
async fn repair_lost(
    ctx: &IndexingContext,
    user: UserId,
    jobs: &[&job::Model],
    now: Timestamp,
) -> Result<(), JobError> {
    for job in jobs {
        if jobs::reload(ctx.core.db.read(), job).await?.is_some() {
            continue;
        }
        let id = DocumentId(job.subject);
        let txn = begin_owned(&ctx.core.db, user).await?;
        if is_deleted(&txn, user, id).await? {
            drop(txn);
            ctx.retrieval.delete_document(user, id).await?;
        } else {
            jobs::enqueue(&txn, user, JobKind::Index, job.subject, Priority::Now, now).await?;
            txn.commit().await?;
        }
    }
    Ok(())
}
