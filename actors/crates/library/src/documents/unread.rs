//! What it means for a job that the sandbox made no text.

use std::time::Duration;

use sandbox::SandboxError;

use super::attempt::JobError;

/// What a parser did not survive, it may survive when the machine is less busy; what it understood will not change.
pub(crate) fn unread(error: SandboxError) -> JobError {
    let reason = error.to_string();
    match error {
        SandboxError::Unavailable(_) => JobError::Transient { reason, after: Some(Duration::from_secs(5)) },
        SandboxError::Crashed | SandboxError::OutOfMemory | SandboxError::TimedOut => JobError::ParserCrash(reason),
        SandboxError::TooLarge
        | SandboxError::Article(_)
        | SandboxError::Audio(_)
        | SandboxError::Pdf(_)
        | SandboxError::Import(_) => JobError::Permanent(reason),
    }
}
