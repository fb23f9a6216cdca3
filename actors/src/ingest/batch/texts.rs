//! Splits supplied texts and stores their passages, those of many documents in one transaction.

use database::padded;
use std::collections::HashMap;

use concurrency::Lane;
use entity::{bookmark, document, job, source, transcript};
use errors::Error;
use jobs::{JobError, JobKind, Priority};
use library::context::CoreContext;
use library::documents::{ChunkedDocument, ExtractedDocument, MAX_SHORT_TEXT_LENGTH, store_first_texts};
use library::feeds::saved;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect, QueryTrait};
use values::groups::{GroupBounds, group_by_size};
use values::id::{DocumentId, UserId};
use values::kind::SourceFormat;
use values::time::Timestamp;

use super::passages::PendingDocument;
use crate::ingest::extraction_context::ExtractionContext;

/// Sources that are in memory at the same time, by their bytes. Their number is that of the jobs of a batch at most.
const GROUP_BOUNDS: GroupBounds = GroupBounds { max_items: usize::MAX, max_size: 1 << 20 };

/// Returns those of these jobs that make the first text of a document from short plain text, in groups that fit into memory. HTML is parsed
/// in a child process, one page after another, and a document that has a text or a transcript needs more than its passages.
pub(super) async fn select_short(
    core: &CoreContext,
    user: UserId,
    jobs: Vec<job::Model>,
) -> Result<Vec<Vec<job::Model>>, Error> {
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let ids = document_ids(&jobs);
    let transcribed = transcript::Entity::owned_by(user)
        .filter(transcript::Column::DocumentId.is_in(padded(&ids)))
        .select_only()
        .column(transcript::Column::DocumentId)
        .into_query();
    let without_text = document::Entity::visible_to(user)
        .filter(document::Column::Id.is_in(padded(&ids)))
        .filter(document::Column::Version.eq(0))
        .filter(document::Column::MissingReason.is_null())
        // Its job has the lease of the subject, so no transcription of the document runs or begins meanwhile.
        .filter(document::Column::Id.not_in_subquery(transcribed))
        .select_only()
        .column(document::Column::Id);
    let without_text: Vec<DocumentId> = without_text.into_tuple().all(core.db.read()).await?;
    if without_text.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = "CAST(OCTET_LENGTH(source.body) + COALESCE(OCTET_LENGTH(source.html), 0) \
                 + COALESCE(OCTET_LENGTH(source.outline), 0) AS BIGINT)";
    let sizes = source::Entity::of_documents(user, padded(&without_text))
        .filter(source::Column::Format.eq(SourceFormat::Text))
        .select_only()
        .column(source::Column::DocumentId)
        .column_as(Expr::cust(bytes), "bytes");
    let sizes: Vec<(DocumentId, i64)> = sizes.into_tuple().all(core.db.read()).await?;
    let sizes: HashMap<DocumentId, i64> = sizes.into_iter().collect();
    let short = jobs.into_iter().filter_map(|job| {
        let bytes = *sizes.get(&DocumentId(job.subject))?;
        // With its HTML and outline.
        (bytes <= i64::from(MAX_SHORT_TEXT_LENGTH)).then_some((job, bytes.unsigned_abs()))
    });
    Ok(group_by_size(short, GROUP_BOUNDS))
}

/// Stores the first texts of the documents of these jobs, which then are the jobs that index them. A job whose source is gone stays as
/// it is.
///
/// # Errors
/// [`JobError::LeaseLost`] when another worker has one of the jobs, or a document changed meanwhile; [`JobError::Internal`] with
/// [`Error::LibraryFull`] when the texts do not fit into the library, or when the database fails. Nothing is stored then.
pub(super) async fn store(
    ctx: &ExtractionContext,
    user: UserId,
    mut jobs: Vec<job::Model>,
) -> Result<Vec<PendingDocument>, JobError> {
    let sources = source::Entity::of_documents(user, padded(&document_ids(&jobs)))
        .filter(source::Column::Format.eq(SourceFormat::Text))
        .all(ctx.core.db.read())
        .await?;
    // Split before the transaction begins, which on SQLite blocks every other writer.
    let mut texts = ctx.core.workers.run(Lane::Background, move || split_all(sources)).await??;
    jobs.retain(|job| texts.contains_key(&DocumentId(job.subject)));
    if jobs.is_empty() {
        return Ok(Vec::new());
    }
    let ids = document_ids(&jobs);
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, user).await?;
    // The first statement, because it checks the leases: an attempt that has lost one rolls back and stores nothing.
    if !jobs::continue_as_index(&txn, user, &jobs.iter().collect::<Vec<_>>(), now).await? {
        return Err(JobError::LeaseLost);
    }
    // Lock order: bookmark before document, as its deletion does. This prevents a deadlock.
    bookmark::Entity::touch_for_documents(&txn, user, padded(&ids), now).await?;
    // Read within the transaction: the user may have set a title, or deleted a document, meanwhile.
    let mut documents = lock_documents(&txn, user, &ids).await?;
    let room = LibraryRoom::of_owner(&txn, &ctx.core, user).await?;
    let mut unstored = Vec::with_capacity(jobs.len());
    for id in &ids {
        let document = documents.remove(id).filter(|row| row.version == 0 && row.hidden_at.is_none());
        unstored.push((document.ok_or(JobError::LeaseLost)?, texts.remove(id).ok_or(JobError::LeaseLost)?));
    }
    let stored = store_first_texts(&txn, user, unstored, now).await?;
    let pending: Vec<PendingDocument> = jobs
        .into_iter()
        .zip(stored)
        .map(|(job, text)| PendingDocument { job, document: text.document, passages: text.passages })
        .collect();
    let has_pages = enqueue_pages(&txn, &pending, now).await?;
    delete_sources(&txn, user, &ids).await?;
    // Checked after the changes, which triggers have counted by now. If the texts do not fit, all of them are rolled back.
    room.must_hold(&txn).await?;
    txn.commit().await?;
    if has_pages {
        ctx.job_signal.notify();
    }
    Ok(pending)
}

fn document_ids(jobs: &[job::Model]) -> Vec<DocumentId> {
    jobs.iter().map(|job| DocumentId(job.subject)).collect()
}

/// Splits the texts of sources into passages. Blocks.
fn split_all(sources: Vec<source::Model>) -> Result<HashMap<DocumentId, ChunkedDocument>, Error> {
    let mut texts = HashMap::with_capacity(sources.len());
    for source::Model { document_id, body, html, outline, .. } in sources {
        let outline = outline.as_deref().map(serde_json::from_str).transpose().map_err(Error::internal)?;
        let text = ExtractedDocument {
            text: text::normalize_input(&body),
            html,
            outline: outline.unwrap_or_default(),
            ..ExtractedDocument::default()
        };
        texts.insert(document_id, ChunkedDocument::split(text));
    }
    Ok(texts)
}

async fn lock_documents(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[DocumentId],
) -> Result<HashMap<DocumentId, document::Model>, Error> {
    let own =
        document::Entity::with_hidden(user).filter(document::Column::Id.is_in(padded(ids))).lock_exclusive();
    Ok(own.all(txn).await?.into_iter().map(|row| (row.id, row)).collect())
}

/// Enqueues the fetches of the pages of entries whose feed contains only a summary. Returns whether there are any.
async fn enqueue_pages(
    txn: &impl ConnectionTrait,
    pending: &[PendingDocument],
    now: Timestamp,
) -> Result<bool, Error> {
    let mut has_pages = false;
    for PendingDocument { job, document, .. } in pending {
        if saved::needs_page(txn, document).await? {
            let priority = Priority::of(job);
            jobs::enqueue(txn, job.user_id, JobKind::FetchPage, job.subject, priority, now).await?;
            has_pages = true;
        }
    }
    Ok(has_pages)
}

/// Deletes the sources that the texts were made from. Content that was handed over meanwhile has a separate job, and stays for it.
async fn delete_sources(txn: &impl ConnectionTrait, user: UserId, ids: &[DocumentId]) -> Result<(), Error> {
    let with_job = jobs::queued_subjects(JobKind::ProcessText, padded(ids).map(|id| id.0));
    source::Entity::delete_owned(user)
        .filter(source::Column::DocumentId.is_in(padded(ids)))
        .filter(source::Column::DocumentId.not_in_subquery(with_job))
        .exec(txn)
        .await?;
    Ok(())
}
