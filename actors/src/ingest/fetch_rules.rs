//! The rules by which pages and recordings are fetched: permits for hosts, and what a failed fetch means for its job.

use entity::job;
use errors::code;
use jobs::{JobError, Priority};
use storage::blobs::BlobError;
use values::id::UserId;
use web::{FetchError, HostPermit, PageUrl, SaveError, UrlRejection};

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
pub fn job_error_of_fetch(error: SaveError) -> JobError {
    let error = match error {
        SaveError::Fetch(error) => error,
        // The disk of the server failed, so the document does not carry the reason.
        SaveError::Disk(cause) => return BlobError::from(cause).into(),
    };
    let advice = match &error {
        FetchError::Rejected(rejection) => return job_error_of_url(rejection),
        FetchError::TooLarge(_) => "upload the file instead, or ask the operator for a higher limit",
        FetchError::Status { .. }
        | FetchError::UnknownHost(_)
        | FetchError::Untrusted(_)
        | FetchError::TooManyRedirects
        | FetchError::UnsupportedEncoding => "check the URL, or try again later",
        FetchError::Timeout(_) | FetchError::Unreachable(_) | FetchError::InvalidResponse(_) => {
            "try again later"
        }
    };
    if error.is_permanent() {
        JobError::Permanent(format!("{error}; {advice}"))
    } else {
        let (reason, after) = (error.to_string(), error.retry_after());
        JobError::FailedFetch { reason, last_advice: advice, after }
    }
}

/// Converts the rejection of a URL to the error of its job.
pub fn job_error_of_url(rejection: &UrlRejection) -> JobError {
    JobError::Permanent(reason_of_url(rejection))
}

/// Returns the reason why the URL of a document or a feed is not fetched. It begins with the error code, so that programs recognise
/// it (contract.md, section 2).
pub fn reason_of_url(rejection: &UrlRejection) -> String {
    format!("{}: {rejection}", code::URL_REJECTED)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn lasting_failure_says_what_failed_and_what_to_do() {
        let error = job_error_of_fetch(FetchError::TooManyRedirects.into());

        let JobError::Permanent(reason) = error else { panic!("{error:?}") };
        assert_eq!(reason, "the server redirected more than 10 times; check the URL, or try again later");
    }

    #[test]
    fn passing_failure_has_advice_for_the_last_attempt_alone() {
        let unavailable = FetchError::Status {
            status: 503,
            retry_after: Some(Duration::from_secs(60)),
            host: "site.example".to_owned(),
        };
        for (error, expected_reason, expected_advice) in [
            (
                FetchError::Timeout(Duration::from_secs(30)),
                "the fetch took longer than 30 seconds",
                "try again later",
            ),
            (unavailable, "the server answered with status 503", "check the URL, or try again later"),
        ] {
            let error = job_error_of_fetch(error.into());

            let JobError::FailedFetch { reason, last_advice, .. } = error else { panic!("{error:?}") };
            assert_eq!((reason.as_str(), last_advice), (expected_reason, expected_advice));
        }
    }

    #[test]
    fn rejected_url_has_its_code_and_one_advice() {
        let error = job_error_of_fetch(FetchError::Rejected(UrlRejection::Own).into());

        let JobError::Permanent(reason) = error else { panic!("{error:?}") };
        assert_eq!(reason, "URL_REJECTED: the URL is one of this server itself; use the URL of another site");
    }
}
