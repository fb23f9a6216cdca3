//! The size and the free space that a file system reports.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;

use super::space_level::{MIN_FREE_TO_DELETE_BYTES, SpaceLevel};

/// A file system that counts its inodes is full when it has fewer left: SQLite, the index and scratch files need some each.
const MIN_FREE_INODES: u64 = 64;

/// The size and the free space of a file system.
#[derive(Clone, Copy, Debug)]
pub struct FileSystemStats {
    /// Size of the file system in bytes.
    pub total_bytes: u64,
    /// Bytes that are available to this process.
    pub free_bytes: u64,
    /// 0 if the file system creates inodes on demand.
    total_inodes: u64,
    free_inodes: u64,
}

impl FileSystemStats {
    /// Measures the disk of a folder.
    ///
    /// # Errors
    /// [`io::Error`] when the folder does not exist or its disk cannot be measured.
    pub fn measure(folder: &Path) -> io::Result<Self> {
        let disk = statvfs(folder)?;
        Ok(Self {
            total_bytes: disk.f_blocks.saturating_mul(disk.f_frsize),
            // Not `f_bfree`, which includes the blocks that only root may use.
            free_bytes: disk.f_bavail.saturating_mul(disk.f_frsize),
            total_inodes: disk.f_files,
            free_inodes: disk.f_favail,
        })
    }

    /// Returns the level for this floor. `withheld_bytes` of the free bytes are not available for adding data.
    pub fn level(self, withheld_bytes: u64, min_free_bytes: u64) -> SpaceLevel {
        let has_inodes = self.total_inodes == 0 || self.free_inodes >= MIN_FREE_INODES;
        let is_above = self.free_bytes.saturating_sub(withheld_bytes) > min_free_bytes;
        if min_free_bytes == 0 || (is_above && has_inodes) {
            SpaceLevel::AboveFloor
        } else if self.free_bytes >= MIN_FREE_TO_DELETE_BYTES {
            SpaceLevel::BelowFloor
        } else {
            SpaceLevel::Full
        }
    }
}

/// Measures the bytes of a folder's disk that this process may still take. Blocks: a network file system may be slow to answer.
///
/// # Errors
/// [`io::Error`] when the folder does not exist or its disk cannot be measured.
pub fn available_bytes(folder: &Path) -> io::Result<u64> {
    FileSystemStats::measure(folder).map(|stats| stats.free_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn stats(free_bytes: u64) -> FileSystemStats {
        FileSystemStats { total_bytes: 1 << 40, free_bytes, total_inodes: 1 << 20, free_inodes: 1 << 19 }
    }

    #[test]
    fn deletions_continue_below_the_floor_until_the_disk_is_full() {
        assert_eq!(stats(100 * MIB + 1).level(0, 100 * MIB), SpaceLevel::AboveFloor);
        assert_eq!(stats(100 * MIB).level(0, 100 * MIB), SpaceLevel::BelowFloor);
        assert_eq!(stats(8 * MIB).level(0, 100 * MIB), SpaceLevel::BelowFloor);
        assert_eq!(stats(8 * MIB - 1).level(0, 100 * MIB), SpaceLevel::Full);
        assert_eq!(stats(8 * MIB - 1).level(0, MIB), SpaceLevel::AboveFloor);
    }

    #[test]
    fn released_space_is_for_deletions_alone() {
        assert_eq!(stats(28 * MIB).level(12 * MIB, 16 * MIB), SpaceLevel::BelowFloor);
        assert_eq!(stats(28 * MIB + 1).level(12 * MIB, 16 * MIB), SpaceLevel::AboveFloor);
        assert_eq!(stats(12 * MIB).level(12 * MIB, 16 * MIB), SpaceLevel::BelowFloor);
        assert_eq!(stats(MIB).level(12 * MIB, 16 * MIB), SpaceLevel::Full);
    }

    /// Covers the fault table (row 8).
    #[test]
    fn disk_without_free_inodes_is_below_the_floor() {
        let none = FileSystemStats { free_inodes: MIN_FREE_INODES - 1, ..stats(100 * MIB) };
        let uncounted = FileSystemStats { total_inodes: 0, free_inodes: 0, ..stats(100 * MIB) };

        assert_eq!(none.level(0, MIB), SpaceLevel::BelowFloor);
        assert_eq!(uncounted.level(0, MIB), SpaceLevel::AboveFloor);
    }

    #[test]
    fn floor_of_nothing_is_never_reached() {
        let none = FileSystemStats { free_inodes: 0, ..stats(0) };

        assert_eq!(none.level(12 * MIB, 0), SpaceLevel::AboveFloor);
    }
}
