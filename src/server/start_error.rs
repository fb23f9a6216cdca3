//! The error of a start that fails.

use std::error::Error;

/// Why the server cannot start.
pub type StartError = Box<dyn Error + Send + Sync>;

/// A fault of a setting or of the machine that stops the start. `carrel doctor` reports it in the same words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{finding}; {advice}")]
pub struct StartFault {
    /// What is wrong, with the name of the setting.
    pub finding: String,
    /// What the operator can do.
    pub advice: String,
}

impl StartFault {
    /// Makes a fault from a finding and an advice.
    pub(super) fn new(finding: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { finding: finding.into(), advice: advice.into() }
    }
}
