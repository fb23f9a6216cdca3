//! What a probe for health finds.

use search::index::EngineFault;

/// The state of the index that a probe finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexProbe {
    /// The index is loaded and answers.
    Loaded {
        /// The estimated number of passages of all users.
        passages: usize,
    },
    /// It is being reloaded after a failed write.
    Reloading,
    /// It could not be reloaded after a failed write: it fails every request.
    Unloaded(EngineFault),
    /// There is no index, because its disk has no space for one.
    Missing,
}
