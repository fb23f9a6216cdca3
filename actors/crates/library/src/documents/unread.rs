//! What it means for a job that the sandbox made no text.

use std::time::Duration;

use sandbox::SandboxError;

use super::attempt::Failure;

/// What a parser did not survive, it may survive when the machine is less busy; what it understood will not change.
pub(crate) fn unread(error: SandboxError) -> Failure {
    let reason = error.to_string();
    match error {
        SandboxError::Unavailable(_) => Failure::Passing { reason, after: Some(Duration::from_secs(5)) },
        SandboxError::Crashed | SandboxError::OutOfMemory | SandboxError::TimedOut => Failure::Fatal(reason),
        SandboxError::TooLarge
        | SandboxError::Article(_)
        | SandboxError::Audio(_)
        | SandboxError::Pdf(_)
        | SandboxError::Import(_) => Failure::Permanent(reason),
    }
}
