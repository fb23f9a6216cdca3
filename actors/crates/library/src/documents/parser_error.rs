//! What a failed parse means for the job that needed it.

use std::time::Duration;

use jobs::JobError;
use sandbox::SandboxError;

/// Delay until the next try when the sandbox could not start a parser.
const SANDBOX_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Returns the job error for a sandbox error: [`JobError::Transient`] when no parser could be started, [`JobError::ParserCrash`],
/// of which a job survives a few, when one ended early, and [`JobError::Permanent`] for content that a parser refused.
pub fn parser_job_error(error: SandboxError) -> JobError {
    let reason = error.to_string();
    match error {
        SandboxError::Unavailable(_) => JobError::Transient { reason, after: Some(SANDBOX_RETRY_DELAY) },
        // A crashed parser may succeed on a machine that is less busy.
        SandboxError::Crashed | SandboxError::OutOfMemory | SandboxError::TimedOut => {
            JobError::ParserCrash(reason)
        }
        // The same bytes would be refused again.
        SandboxError::TooLarge
        | SandboxError::Article(_)
        | SandboxError::Audio(_)
        | SandboxError::Pdf(_)
        | SandboxError::Picture(_)
        | SandboxError::Import(_) => JobError::Permanent(reason),
    }
}
