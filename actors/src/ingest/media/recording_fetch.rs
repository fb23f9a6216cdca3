//! Fetches the recording of a document that is not an upload.

use entity::{document, job};
use jobs::JobError;
use storage::blobs::LocalFile;
use tracing::warn;
use web::{BodyPolicy, FetchOutcome, FetchRequest, PageUrl, SaveError};

use super::{recording_file, recording_url};
use crate::ingest::extraction_context::ExtractionContext;
use crate::ingest::fetch_rules::{acquire_host_permit, job_error_of_fetch};

/// Returns the recording of a document: the file that is kept since it was fetched, or a new one, which is kept.
///
/// # Errors
/// [`JobError::Permanent`] when there is no recording at the URL; otherwise as for a page.
pub async fn fetch_recording(
    ctx: &ExtractionContext,
    job: &job::Model,
    document: &document::Model,
) -> Result<LocalFile, JobError> {
    if let Some(file) = recording_file::find(ctx, document.id).await? {
        return Ok(file);
    }
    let separate_url = recording_url::find_separate(ctx.core.db.read(), document).await?;
    let url = separate_url.or_else(|| document.url.clone());
    let url = url.and_then(|url| PageUrl::parse(&url).ok()).ok_or_else(no_recording)?;
    let _permit = acquire_host_permit(ctx, job, &url)?;
    // Whatever media type the server declares: the type is detected by the first bytes of the file.
    let policy = |_: Option<&str>| BodyPolicy::File;
    match ctx.fetcher.get_or_save(&url, FetchRequest::page(), &ctx.uploads.scratch, policy).await {
        Ok(FetchOutcome::File(file)) => {
            // Keeping it only saves another fetch, so a full store does not stop the transcription.
            if let Err(error) =
                recording_file::keep_file(&ctx.core, &*ctx.uploads.store, document.id, file.path()).await
            {
                let cause = error.chain();
                warn!(
                    job.id = %job.id, job.subject = %job.subject, cause,
                    "could not store a fetched recording; it is transcribed nevertheless"
                );
            }
            Ok(LocalFile::Temporary(file))
        }
        Ok(FetchOutcome::Page(_) | FetchOutcome::Skipped) => Err(no_recording()),
        Err(error) => {
            if let SaveError::Fetch(error) = &error {
                ctx.host_throttle.record_retry_after(error);
            }
            Err(job_error_of_fetch(error))
        }
    }
}

fn no_recording() -> JobError {
    JobError::Permanent("there is no recording at the URL; check the URL".to_owned())
}
