//! Why the storage did not take a change.

use std::time::Duration;

/// Why the storage did not take a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StorageFailure {
    /// A read, a write or a sync failed, memory or file handles ran out, or the server of the database takes no writes.
    #[error("the storage failed, so it is not known whether the change was saved; try again later")]
    Transient,
    /// Damage was met in the database.
    #[error("the database is damaged and is being verified; nothing is written meanwhile; try again later")]
    Damaged,
    /// A file of the database was removed, moved or replaced.
    #[error("a file of the database is missing; changes are not kept until the operator has put it back")]
    Removed,
    /// There is no passage index, because its disk has no space for one.
    #[error(
        "search is not available, because the disk has no space for its index; reading still works; try again when \
         the operator has freed space"
    )]
    NoIndex,
}

impl StorageFailure {
    /// Returns how long a client waits before it retries.
    pub fn retry_after(self) -> Duration {
        Duration::from_secs(match self {
            // The connection that met the fault has been replaced by then.
            Self::Transient => 5,
            // Writes continue when a check finds no damage, or the file is back in its place; searches when an operator has freed space.
            Self::Damaged | Self::Removed | Self::NoIndex => 60,
        })
    }
}
