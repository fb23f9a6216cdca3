//! The free-space floor of the disks that hold the database and the index.
//!
//! SQLite fails a write on a full disk cleanly, but the embedded index writes through mapped files, where a full disk ends the
//! process (SIGBUS). Below the floor, requests and jobs that add data do not start. Sign-in, revocation and deletion continue, and
//! so do jobs that only delete, as long as the index has the space that any write needs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{StatVfs, statvfs};
use tracing::warn;

use crate::error::Error;

/// Space that must be free before passages are added to the index or changed: the engine writes through mapped files, where a
/// full disk ends the process instead of failing the write.
pub const MIN_FREE_TO_ADD_BYTES: u64 = 16 << 20;
/// The same before passages are removed, or what was written is synced: that takes far less, and frees space.
pub const MIN_FREE_TO_DELETE_BYTES: u64 = 8 << 20;

/// Disks are measured no more often: a slow network file system answers late, and this is asked for each part of a file.
const MEASUREMENT_LIFETIME: Duration = Duration::from_millis(250);
/// A file system with a fixed number of inodes counts as full below this: SQLite, the index and scratch files each need some.
const MIN_FREE_INODES: u64 = 64;

/// How much space the fullest of the disks has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpaceLevel {
    /// Less than deletions need.
    Full,
    /// Less than the floor.
    BelowFloor,
    /// More than the floor.
    AboveFloor,
}

impl SpaceLevel {
    const ALL: [Self; 3] = [Self::Full, Self::BelowFloor, Self::AboveFloor];

    fn of_number(number: u64) -> Self {
        Self::ALL.into_iter().find(|level| level.number() == number).unwrap_or(Self::AboveFloor)
    }

    fn number(self) -> u64 {
        match self {
            Self::Full => 0,
            Self::BelowFloor => 1,
            Self::AboveFloor => 2,
        }
    }
}

/// The folders that are written to, and how much space must stay free on their disks. Clones share the last measurement.
#[derive(Clone, Debug)]
pub struct DiskSpace(Arc<Disks>);

#[derive(Debug)]
struct Disks {
    folders: Vec<PathBuf>,
    min_free_bytes: u64,
    measurement: Measurement,
}

impl Default for DiskSpace {
    /// No floor.
    fn default() -> Self {
        Self::new(Vec::new(), 0)
    }
}

impl DiskSpace {
    /// Sets a floor in bytes for the disk of each folder; 0 means no floor.
    pub fn new(folders: Vec<PathBuf>, min_free_bytes: u64) -> Self {
        Self(Arc::new(Disks { folders, min_free_bytes, measurement: Measurement::default() }))
    }

    /// Returns the same disks plus the disk of one more folder.
    #[must_use]
    pub fn with_folder(&self, folder: PathBuf) -> Self {
        let mut folders = self.0.folders.clone();
        folders.push(folder);
        Self::new(folders, self.0.min_free_bytes)
    }

    /// Returns the level of the fullest disk, measured at most a quarter of a second ago. A disk that cannot be measured counts as
    /// one with enough space: if it is full, its writes fail.
    pub fn level(&self) -> SpaceLevel {
        if self.0.min_free_bytes == 0 {
            return SpaceLevel::AboveFloor;
        }
        self.0.measurement.get(|| self.measure())
    }

    /// Whether every disk has more than the floor left.
    pub fn has_room(&self) -> bool {
        self.level() == SpaceLevel::AboveFloor
    }

    /// Refuses what needs space.
    ///
    /// # Errors
    /// [`Error::StorageFull`] below the floor.
    pub fn require_room(&self) -> Result<(), Error> {
        if self.has_room() { Ok(()) } else { Err(Error::StorageFull) }
    }

    fn measure(&self) -> SpaceLevel {
        let levels = self.0.folders.iter().map(|folder| level_of(folder, self.0.min_free_bytes));
        levels.min().unwrap_or(SpaceLevel::AboveFloor)
    }
}

/// Bytes of a folder's disk that this process may still take.
///
/// # Errors
/// The folder is not there, or its disk cannot be measured.
pub fn available_bytes(folder: &Path) -> io::Result<u64> {
    Ok(free_bytes(&statvfs(folder)?))
}

fn free_bytes(disk: &StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}

fn level_of(folder: &Path, min_free_bytes: u64) -> SpaceLevel {
    let disk = match statvfs(folder) {
        Ok(disk) => disk,
        Err(error) => {
            warn!(%error, "could not measure the free space of a disk");
            return SpaceLevel::AboveFloor;
        }
    };
    let inodes = FreeInodes { total: disk.f_files, free: disk.f_favail };
    level(free_bytes(&disk), inodes, min_free_bytes)
}

/// The inodes of a file system. `total` is 0 if the file system allocates them on demand.
#[derive(Clone, Copy, Debug)]
struct FreeInodes {
    total: u64,
    free: u64,
}

fn level(free_bytes: u64, inodes: FreeInodes, min_free_bytes: u64) -> SpaceLevel {
    let has_inodes = inodes.total == 0 || inodes.free >= MIN_FREE_INODES;
    if free_bytes > min_free_bytes && has_inodes {
        SpaceLevel::AboveFloor
    } else if free_bytes >= MIN_FREE_TO_DELETE_BYTES {
        SpaceLevel::BelowFloor
    } else {
        SpaceLevel::Full
    }
}

/// The last measurement and when it was made, in one number: callers on all threads read it without a lock.
#[derive(Debug)]
struct Measurement {
    began: Instant,
    /// Milliseconds since `began` in all bits but the lowest two, which are the level; [`Self::NONE`] at first.
    last: AtomicU64,
}

impl Default for Measurement {
    fn default() -> Self {
        Self { began: Instant::now(), last: AtomicU64::new(Self::NONE) }
    }
}

impl Measurement {
    const NONE: u64 = u64::MAX;

    fn get(&self, measure: impl FnOnce() -> SpaceLevel) -> SpaceLevel {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX >> 2);
        self.get_at(now, measure)
    }

    fn get_at(&self, now: u64, measure: impl FnOnce() -> SpaceLevel) -> SpaceLevel {
        let last = self.last.load(Ordering::Relaxed);
        let (at, level) = (last >> 2, SpaceLevel::of_number(last & 3));
        if last != Self::NONE {
            let is_fresh = u128::from(now.saturating_sub(at)) < MEASUREMENT_LIFETIME.as_millis();
            // One caller measures; the others use the last level until it is done.
            let renewed = (now << 2) | level.number();
            if is_fresh
                || self.last.compare_exchange(last, renewed, Ordering::Relaxed, Ordering::Relaxed).is_err()
            {
                return level;
            }
        }
        let measured = measure();
        self.last.store((now << 2) | measured.number(), Ordering::Relaxed);
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY_INODES: FreeInodes = FreeInodes { total: 1 << 20, free: 1 << 19 };
    const MIB: u64 = 1 << 20;

    #[test]
    fn floor_applies_to_every_disk() {
        let folder = tempfile::tempdir().unwrap();
        let folders = || vec![folder.path().to_owned()];

        assert!(DiskSpace::new(folders(), 1).has_room());
        assert!(DiskSpace::new(folders(), 0).has_room());
        let full = DiskSpace::new(folders(), u64::MAX - 1);
        assert!(!full.has_room());
        assert!(matches!(full.require_room(), Err(Error::StorageFull)));
        assert!(DiskSpace::new(vec![folder.path().join("missing")], 1).has_room());
        assert!(!DiskSpace::new(Vec::new(), u64::MAX).with_folder(folder.path().to_owned()).has_room());
    }

    #[test]
    fn available_bytes_of_a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();

        assert!(available_bytes(folder.path()).is_ok());
        let error = available_bytes(&folder.path().join("missing")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_deletions_have_space_below_the_floor() {
        assert_eq!(level(100 * MIB + 1, MANY_INODES, 100 * MIB), SpaceLevel::AboveFloor);
        assert_eq!(level(100 * MIB, MANY_INODES, 100 * MIB), SpaceLevel::BelowFloor);
        assert_eq!(level(8 * MIB, MANY_INODES, 100 * MIB), SpaceLevel::BelowFloor);
        assert_eq!(level(8 * MIB - 1, MANY_INODES, 100 * MIB), SpaceLevel::Full);
        assert_eq!(level(8 * MIB - 1, MANY_INODES, MIB), SpaceLevel::AboveFloor);
    }

    #[test]
    fn disk_without_free_inodes_is_below_the_floor() {
        let none = FreeInodes { free: MIN_FREE_INODES - 1, ..MANY_INODES };

        assert_eq!(level(100 * MIB, none, MIB), SpaceLevel::BelowFloor);
        assert_eq!(level(100 * MIB, FreeInodes { total: 0, free: 0 }, MIB), SpaceLevel::AboveFloor);
    }

    #[test]
    fn disk_is_measured_once_in_its_lifetime() {
        let measurement = Measurement::default();
        let lifetime = u64::try_from(MEASUREMENT_LIFETIME.as_millis()).unwrap();
        let must_not_run = || -> SpaceLevel { unreachable!("it was measured again") };

        assert_eq!(measurement.get_at(5, || SpaceLevel::Full), SpaceLevel::Full);
        assert_eq!(measurement.get_at(4 + lifetime, must_not_run), SpaceLevel::Full);
        assert_eq!(measurement.get_at(5 + lifetime, || SpaceLevel::AboveFloor), SpaceLevel::AboveFloor);
        assert_eq!(measurement.get_at(6 + lifetime, must_not_run), SpaceLevel::AboveFloor);
    }

    #[test]
    fn disk_is_measured_by_one_caller_at_a_time() {
        let measurement = Measurement::default();
        measurement.get_at(0, || SpaceLevel::BelowFloor);

        let measured = measurement.get_at(9_999, || {
            let meanwhile =
                measurement.get_at(9_999, || -> SpaceLevel { unreachable!("it was measured twice") });
            assert_eq!(meanwhile, SpaceLevel::BelowFloor);
            SpaceLevel::AboveFloor
        });

        assert_eq!(measured, SpaceLevel::AboveFloor);
    }
}
