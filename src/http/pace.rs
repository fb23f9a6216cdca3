//! How slowly a sender may send what is written to the store as it comes.

use std::time::Duration;

use errors::Error;

/// A sender from whom nothing comes for so long is given up.
pub const SILENCE: Duration = Duration::from_secs(60);
/// And so is one who sends for longer than this in all.
pub const LONGEST: Duration = Duration::from_secs(6 * 3600);

/// What such a sender is told.
pub fn late() -> Error {
    Error::BodyTimeout
}
