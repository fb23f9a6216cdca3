//! What a probe for health finds.

use search::index::EngineFault;

/// The state of the index that a probe finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexProbe {
    /// The index is loaded and answers, or is unloaded because nothing used it, and the next request loads it.
    Available {
        /// The estimated number of passages of all users.
        passages: usize,
    },
    /// It is being reloaded after a failed write.
    Reloading,
    /// It could not be loaded again, after a failed write or after it was unloaded: it fails requests.
    LoadFailed(EngineFault),
    /// It is unloaded, and its disk has too little space to load it: it refuses requests.
    NoSpace,
    /// There is no index, because its disk has no space for one.
    Missing,
    /// Its server does not answer, or cannot hold it. Requests are tried again every few seconds.
    Unreachable,
}
