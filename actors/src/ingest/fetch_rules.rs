//! The rules by which pages and recordings are fetched: permits for hosts, and what a failed fetch means for its job.

use entity::job;
use jobs::{JobError, Priority};
use storage::blobs::BlobError;
use values::id::UserId;
use web::{FetchError, HostPermit, PageUrl, UrlRejection};

use super::extraction_context::ExtractionContext;

/// Acquires the permit for the host of a URL. Jobs that a user waits for need none: the throttle protects a host from
/// backlogs, such as the pages of a feed or of an import, which may all be of one host.
///
/// # Errors
/// [`JobError::HostBusy`] with the time after which the job is tried again.
pub fn acquire_host_permit(
    ctx: &ExtractionContext,
    job: &job::Model,
    url: &PageUrl,
) -> Result<Option<HostPermit<UserId>>, JobError> {
    if Priority::of(job) != Priority::Backlog {
        return Ok(None);
    }
    ctx.host_throttle.try_acquire(url, Some(job.user_id)).map(Some).map_err(JobError::HostBusy)
}

/// Converts the error of a fetch to that of its job. The document shows the reason.
pub fn job_error_of_fetch(error: FetchError) -> JobError {
    if let FetchError::Rejected(rejection) = &error {
        return job_error_of_url(rejection);
    }
    if let FetchError::Save(cause) = error {
        // The disk of the server failed, so the document does not carry the reason.
        return BlobError::from(cause).into();
    }
    let reason = error.to_string();
    if error.is_permanent() {
        JobError::Permanent(reason)
    } else {
        JobError::Transient { reason, after: error.retry_after() }
    }
}

/// Converts the rejection of a URL to the error of its job. The reason begins with the error code, so
/// that programs recognise it (contract.md, section 2).
pub fn job_error_of_url(rejection: &UrlRejection) -> JobError {
    JobError::Permanent(format!("URL_REJECTED: {rejection}"))
}
