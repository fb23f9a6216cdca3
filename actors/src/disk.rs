//! The free-space floor of the disks that hold the database and the index.
//!
//! SQLite fails a write on a full disk cleanly, but the embedded index writes through mapped files, where a full disk ends the
//! process (SIGBUS). Below the floor nothing that needs space begins; what is left serves sign-in, revocation and deletion.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::warn;

use crate::error::Error;

/// The folders that are written to, and how much space their disks must keep. Clones share them.
#[derive(Clone, Debug)]
pub struct DiskSpace {
    folders: Arc<[PathBuf]>,
    min_free_bytes: u64,
}

impl Default for DiskSpace {
    /// No floor.
    fn default() -> Self {
        Self::new(Vec::new(), 0)
    }
}

impl DiskSpace {
    /// With this floor in bytes for the disk of each folder; 0 is no floor.
    pub fn new(folders: Vec<PathBuf>, min_free_bytes: u64) -> Self {
        Self { folders: folders.into(), min_free_bytes }
    }

    /// Whether every disk has more than the floor left. A disk that cannot be measured counts as one with space: its writes
    /// fail by themselves where it has none.
    pub fn has_room(&self) -> bool {
        self.min_free_bytes == 0 || self.folders.iter().all(|folder| self.is_above_floor(folder))
    }

    /// Refuses what needs space.
    ///
    /// # Errors
    /// [`Error::StorageFull`] below the floor.
    pub fn require_room(&self) -> Result<(), Error> {
        if self.has_room() { Ok(()) } else { Err(Error::StorageFull) }
    }

    fn is_above_floor(&self, folder: &Path) -> bool {
        match fs4::available_space(folder) {
            Ok(free) => free > self.min_free_bytes,
            Err(error) => {
                warn!(%error, "could not measure the free space of a disk");
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_is_held_on_every_disk() {
        let folder = tempfile::tempdir().unwrap();
        let folders = || vec![folder.path().to_owned()];

        assert!(DiskSpace::new(folders(), 1).has_room());
        assert!(DiskSpace::new(folders(), 0).has_room());
        let full = DiskSpace::new(folders(), u64::MAX - 1);
        assert!(!full.has_room());
        assert!(matches!(full.require_room(), Err(Error::StorageFull)));
        assert!(DiskSpace::new(vec![folder.path().join("missing")], 1).has_room());
    }
}
