//! How a job ends that extracts the text of a document: with the text stored, or handed on to a job that transcribes it.

use concurrency::Lane;
use entity::{bookmark, document, job, source};
use jobs::{JobError, JobKind, Priority};
use library::documents::{ChunkedDocument, ExtractedDocument, replace_text};
use library::feeds::saved;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_owned;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use values::id::DocumentId;
use values::kind::ContentType;

use super::extraction_context::ExtractionContext;
use super::{media, page};

/// Stores the text of the job's document and ends the job, in one transaction. `used_source` is the handed-over content that
/// the text was made from.
///
/// # Errors
/// [`JobError::LeaseLost`] when another worker has the job; [`JobError::Internal`] with
/// [`Error::LibraryFull`](errors::Error::LibraryFull) when the text does not fit into the library, or when the database fails.
pub async fn store_text(
    ctx: &ExtractionContext,
    job: &job::Model,
    id: DocumentId,
    used_source: Option<source::Model>,
    text: ExtractedDocument,
) -> Result<(), JobError> {
    // Split before the transaction begins, which on SQLite blocks every other writer.
    let chunked = ctx.core.workers.run(Lane::Background, move || ChunkedDocument::split(text)).await?;
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    // The first statement, because it checks the lease: an attempt that has lost it rolls back and stores nothing.
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    // Lock order: bookmark before document, as its deletion does. This prevents a deadlock.
    bookmark::Entity::touch_for_document(&txn, job.user_id, id, now).await?;
    // Read again within the transaction: the user may have set a title, or deleted the document, meanwhile.
    let found =
        document::Entity::with_hidden(job.user_id).filter(document::Column::Id.eq(id)).lock_exclusive();
    if let Some(document) = found.one(&txn).await? {
        let room = LibraryRoom::of_owner(&txn, &ctx.core, job.user_id).await?;
        let room = room.rewriting(&txn, Some(id)).await?;
        replace_text(&txn, &document, chunked, Priority::of(job), now).await?;
        if JobKind::named(&job.kind) == Some(JobKind::Transcribe) {
            media::supersede_other_texts(&txn, &document).await?;
        } else if document.content_type == ContentType::Pdf {
            // Its pages are drawn from a file of the new text, which is fetched when it is opened.
            media::recording_file::release(&txn, id).await?;
        }
        if used_source.is_some() && saved::needs_page(&txn, &document).await? {
            jobs::enqueue(&txn, job.user_id, JobKind::FetchPage, id.0, Priority::of(job), now).await?;
        }
        let source = source::Entity::one_of_document(job.user_id, id).one(&txn).await?;
        if let Some(source) = source
            // Content that was handed over meanwhile has a separate job, and stays for it.
            && (Some(&source) == used_source.as_ref() || page::has_given_up_source(&txn, job).await?)
        {
            source::Entity::delete_owned_row(&txn, job.user_id, source).await?;
        }
        // Checked after the changes, which triggers have counted by now. If the text does not fit, all of them are
        // rolled back.
        room.must_hold(&txn).await?;
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

/// Ends the job, and enqueues the transcription of its document: recordings have a separate track.
///
/// # Errors
/// [`JobError::LeaseLost`] when another worker has the job; [`JobError::Internal`] when the database fails.
pub async fn hand_over_to_transcription(ctx: &ExtractionContext, job: &job::Model) -> Result<(), JobError> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    jobs::enqueue(&txn, job.user_id, JobKind::Transcribe, job.subject, Priority::of(job), now).await?;
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}
