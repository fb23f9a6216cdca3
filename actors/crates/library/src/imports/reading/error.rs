//! Why the next rows of a file cannot be read.

use sandbox::SandboxError;

use errors::Error;

/// Why the next rows of a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The child process cannot read the file any further.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The store or the database fails.
    #[error(transparent)]
    Internal(#[from] Error),
}
