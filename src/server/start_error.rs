//! The error of a start that fails.

use std::error::Error;

/// Why the server cannot start.
pub type StartError = Box<dyn Error + Send + Sync>;
