//! Sequences the stages that make the text of a document.
//!
//! A stage returns what it detected, and this module decides which stage is next: a URL may lead to a PDF, a stored file may
//! be a recording, and what was taken for a recording may be a PDF. The stages do not know each other. Each ends in
//! `completion`: the text is stored, or the document is handed over to a job that transcribes it.

use entity::{document, job};
use jobs::{JobError, JobKind, Priority};
use library::documents::ExtractedDocument;
use library::owned_transaction::{begin_owned, finish_job};
use sea_orm::{ColumnTrait, QueryFilter};
use values::id::DocumentId;
use web::PageUrl;

use super::document_row::{ensure_library_has_room, is_recording};
use super::extraction_context::ExtractionContext;
use super::fetch_rules::acquire_host_permit;
use super::file::{self, FileContent};
use super::page::{self, DetectedContent};
use super::{completion, media, pdf};

/// Runs a job of kind [`JobKind::ProcessText`] or [`JobKind::FetchPage`]: reads the content that was handed over with the document, or
/// what its URL leads to.
///
/// # Errors
/// [`JobError::LeaseLost`], or the [`JobError`] of the stage that failed.
pub async fn run_page(ctx: &ExtractionContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    let own = document::Entity::with_hidden(job.user_id).filter(document::Column::Id.eq(id));
    let document = own.one(ctx.core.db.read()).await?;
    let Some(document) = document.filter(|document| document.hidden_at.is_none()) else {
        return finish_without_document(ctx, job).await;
    };
    let source = page::find_readable_source(ctx, job, id).await?;
    if source.is_none() {
        ensure_library_has_room(&ctx.core, &document).await?;
    }
    let text = match source.clone() {
        Some(source) => page::read_source(ctx, job, &document, source).await?,
        // Another job has read the content that was handed over.
        None if JobKind::named(&job.kind) == Some(JobKind::ProcessText) => {
            finish_job(&ctx.core.db, job, ctx.core.clock.now()).await?;
            return Ok(());
        }
        None => match fetch_text(ctx, job, &document).await? {
            Some(text) => text,
            None => return completion::hand_over_to_transcription(ctx, job).await,
        },
    };
    completion::store_text(ctx, job, id, source, text).await
}

/// Returns the text that the document's URL leads to; none for a recording.
async fn fetch_text(
    ctx: &ExtractionContext,
    job: &job::Model,
    document: &document::Model,
) -> Result<Option<ExtractedDocument>, JobError> {
    let url = document.url.as_deref().and_then(|url| PageUrl::parse(url).ok());
    // Held until the content is read, so that a backlog fetches no faster from a host than it can be read.
    let _permit = url.map(|url| acquire_host_permit(ctx, job, &url)).transpose()?;
    match page::fetch(ctx, job, document).await? {
        DetectedContent::Html(text) => Ok(Some(*text)),
        DetectedContent::Pdf(file) => pdf::extract_text(ctx, file.path()).await.map(Some),
        DetectedContent::Recording => Ok(None),
    }
}

/// Runs a job of kind [`JobKind::ProcessFile`]: reads the stored file of an upload.
///
/// # Errors
/// [`JobError::LeaseLost`], or the [`JobError`] of the stage that failed.
pub async fn run_file(ctx: &ExtractionContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    let Some(document) = document::Entity::one_visible_to(job.user_id, id).one(ctx.core.db.read()).await?
    else {
        return finish_without_document(ctx, job).await;
    };
    if is_recording(document.content_type) {
        // Before gigabytes are copied to this machine for a recording that has to wait.
        return completion::hand_over_to_transcription(ctx, job).await;
    }
    ensure_library_has_room(&ctx.core, &document).await?;
    let file = file::find_stored_file(ctx, job).await?.ok_or_else(file::missing_file)?;
    match file::detect_content(&ctx.core, job, file.path(), document.content_type).await? {
        FileContent::Pdf => {
            let text = pdf::extract_text(ctx, file.path()).await?;
            completion::store_text(ctx, job, id, None, text).await
        }
        FileContent::Recording => completion::hand_over_to_transcription(ctx, job).await,
    }
}

/// Runs a job of kind [`JobKind::Transcribe`]: transcribes the stored file of an upload, or the recording at the document's
/// URL or the one of its feed entry.
///
/// # Errors
/// [`JobError::LeaseLost`], or the [`JobError`] of the stage that failed.
pub async fn run_transcription(ctx: &ExtractionContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    let Some(document) = document::Entity::one_visible_to(job.user_id, id).one(ctx.core.db.read()).await?
    else {
        return finish_without_document(ctx, job).await;
    };
    // Before gigabytes are fetched for a recording that cannot be transcribed now.
    ctx.speech.transcriber().ok_or_else(media::model_missing)?;
    ensure_library_has_room(&ctx.core, &document).await?;
    media::ensure_slot(&ctx.core, job).await?;
    let file = match file::find_stored_file(ctx, job).await? {
        Some(file) => file,
        None => media::fetch_recording(ctx, job, &document).await?,
    };
    let text = match file::detect_content(&ctx.core, job, file.path(), document.content_type).await? {
        FileContent::Pdf => Some(pdf::extract_text(ctx, file.path()).await?),
        FileContent::Recording => media::transcribe_in_turn(ctx, job, file.path()).await?,
    };
    match text {
        Some(text) => completion::store_text(ctx, job, id, None, text).await,
        None => yield_recording(ctx, job).await,
    }
}

/// Puts the job back behind the recordings that it yields to. A job that has ended, because its
/// document was deleted, stays as it is.
async fn yield_recording(ctx: &ExtractionContext, job: &job::Model) -> Result<(), JobError> {
    // It ends if the same job was requested meanwhile.
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    jobs::yield_job(&txn, job, 0, Priority::of(job), ctx.core.clock.now()).await?;
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

/// Ends a job whose document was deleted.
async fn finish_without_document(ctx: &ExtractionContext, job: &job::Model) -> Result<(), JobError> {
    finish_job(&ctx.core.db, job, ctx.core.clock.now()).await?;
    Ok(())
}
