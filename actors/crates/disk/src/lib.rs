//! # Disk space and scratch files
//!
//! Keeps free space on the disks that hold the database, the index and the files, and provides temporary files on them.
//!
//! SQLite fails a write on a full disk cleanly, but the embedded index writes through mapped files, where a full disk ends the
//! process (SIGBUS). Below the free-space floor no work begins that adds data. Sign-in, revocation and deletion continue, and so do
//! jobs that only delete, as long as the index has the space that it needs for any write.
//!
//! | To | Call |
//! |---|---|
//! | name the disks and their floor | [`DiskSpace::new`], [`DiskSpace::with_reserves`], [`DiskSpace::with_folder`] |
//! | measure them four times a second | [`DiskSpace::watch`] |
//! | ask how much space is left | [`DiskSpace::level`], [`DiskSpace::has_room`], [`available_bytes`] |
//! | refuse work that adds data | [`DiskSpace::require_room`] |
//! | announce the bytes of a long file before they are written | [`DiskSpace::reserve`], [`DiskReservation`] |
//! | free the space that was set aside, to start on a full disk | [`DiskSpace::release_reserves_to_start`] |
//! | write a temporary file | [`Scratch::file`], [`Scratch::writer`] |
//! | tell a file from another one at its path | [`FileIdentity`] |
//!
//! A background task measures the disks, and requests load the result: a slow network file system stalls none of them.
//! Writers of long files announce their bytes, so that many concurrent writers do not pass the floor between two measurements. If other
//! processes fill a disk nevertheless, space that was set aside on it (16 MiB, less on a disk below 128 MiB) is released.
//!
//! A disk that cannot be measured counts as one with space. Disks are distinguished by their device number; quotas of users or
//! directories are not known. This crate reads no settings and depends on no other crate of Carrel.

mod file_identity;
mod ledger;
mod reservation;
mod scratch;
mod space;
mod space_reserve;
mod volume;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;

pub use file_identity::FileIdentity;
pub use reservation::DiskReservation;
pub use scratch::{Scratch, ScratchFile, ScratchWriter};

use self::space::Space;
use self::space_reserve::SpaceReserve;
use self::volume::Volume;

/// Space that must be free before passages are added to the index or changed: the engine writes through mapped files, where a
/// full disk ends the process instead of failing the write.
pub const MIN_FREE_TO_ADD_BYTES: u64 = 16 << 20;
/// Space that must be free before passages are removed or writes are synced, which takes far less and frees space.
pub const MIN_FREE_TO_DELETE_BYTES: u64 = 8 << 20;

/// A disk has no more free space than its floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a disk has less free space than storage.min_free_bytes")]
pub struct StorageFull;

/// The free space of the fullest disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpaceLevel {
    /// Less than [`MIN_FREE_TO_DELETE_BYTES`]: not even passages may be removed from the index.
    Full,
    /// The floor or less: only work that deletes may run.
    BelowFloor,
    /// More than the floor: all work may run.
    AboveFloor,
}

impl SpaceLevel {
    /// Returns the level whose discriminant is this number.
    fn from_number(number: u8) -> Self {
        let levels = [Self::Full, Self::BelowFloor, Self::AboveFloor];
        levels.into_iter().find(|level| *level as u8 == number).unwrap_or(Self::AboveFloor)
    }
}

/// The disks that are written to, and how much space they must keep. Clones share them.
#[derive(Clone, Debug)]
pub struct DiskSpace(Arc<Disks>);

#[derive(Debug)]
struct Disks {
    min_free_bytes: u64,
    /// The disks whose floor is kept.
    volumes: Vec<Arc<Volume>>,
    /// The disk to which announced bytes are written; `None` without disks.
    target: Option<Arc<Volume>>,
    /// All measured disks: these, and those of [`DiskSpace::with_folder`].
    watched: Arc<Mutex<Vec<Arc<Volume>>>>,
}

impl Default for DiskSpace {
    /// No disks and no floor.
    fn default() -> Self {
        Self::new(Vec::new(), 0)
    }
}

impl DiskSpace {
    /// Creates the disks of these folders, each disk once, and measures them. The floor in bytes applies to all; 0 means no floor.
    /// Announced bytes count for the first disk.
    pub fn new(folders: Vec<PathBuf>, min_free_bytes: u64) -> Self {
        let volumes = folders.into_iter().map(|folder| Volume::new(folder, None, min_free_bytes));
        Self::from_volumes(volumes, min_free_bytes)
    }

    /// Creates the disks as [`Self::new`] does, with space set aside on each in a file of the folder. Used by the service.
    pub fn with_reserves(folders: Vec<PathBuf>, min_free_bytes: u64) -> Self {
        let volumes = folders.into_iter().map(|folder| {
            let reserve = SpaceReserve::in_folder(&folder);
            Volume::new(folder, Some(reserve), min_free_bytes)
        });
        Self::from_volumes(volumes, min_free_bytes)
    }

    fn from_volumes(all: impl Iterator<Item = Volume>, min_free_bytes: u64) -> Self {
        let mut volumes: Vec<Arc<Volume>> = Vec::new();
        for volume in all {
            // Announcements of all folders of a disk must meet in one ledger.
            if !volumes.iter().any(|known| known.is_same_disk(&volume)) {
                volumes.push(Arc::new(volume));
            }
        }
        let (target, watched) = (volumes.first().cloned(), Arc::new(Mutex::new(volumes.clone())));
        Self(Arc::new(Disks { min_free_bytes, volumes, target, watched }))
    }

    /// Returns these disks and the disk of another folder, for which announced bytes then count.
    #[must_use]
    pub fn with_folder(&self, folder: PathBuf) -> Self {
        let volume = self.watch_folder(folder);
        let mut volumes = self.0.volumes.clone();
        if !volumes.iter().any(|known| Arc::ptr_eq(known, &volume)) {
            volumes.push(volume.clone());
        }
        let (min_free_bytes, watched) = (self.0.min_free_bytes, self.0.watched.clone());
        Self(Arc::new(Disks { min_free_bytes, volumes, target: Some(volume), watched }))
    }

    fn watch_folder(&self, folder: PathBuf) -> Arc<Volume> {
        // Before the lock, because the measurement blocks while a network file system does not answer.
        let volume = Volume::new(folder, None, self.0.min_free_bytes);
        let mut watched = self.0.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = watched.iter().find(|known| known.is_same_disk(&volume)) {
            return known.clone();
        }
        let volume = Arc::new(volume);
        watched.push(volume.clone());
        volume
    }

    /// Measures the disks four times a second until it is aborted, each independently: a disk that does not answer keeps its last
    /// level. Releases and refills the space that is set aside.
    pub async fn watch(self) {
        let watched = self.0.watched.lock().unwrap_or_else(PoisonError::into_inner).clone();
        join_all(watched.into_iter().map(Volume::watch)).await;
    }

    /// Releases the space that is set aside, if a disk has too little left to open the database and the index.
    ///
    /// # Errors
    /// [`io::Error`] when a disk cannot be measured or its space cannot be released.
    pub fn release_reserves_to_start(&self) -> io::Result<()> {
        self.0.volumes.iter().try_for_each(|volume| volume.release_to_start())
    }

    /// Returns the level of the fullest disk, from the last measurement. A disk that cannot be measured counts as one with space: if
    /// it has none, its writes fail.
    pub fn level(&self) -> SpaceLevel {
        self.0.volumes.iter().map(|volume| volume.level()).min().unwrap_or(SpaceLevel::AboveFloor)
    }

    /// Returns whether every disk has more than the floor left.
    pub fn has_room(&self) -> bool {
        self.level() == SpaceLevel::AboveFloor
    }

    /// Checks that there is space for work that adds data.
    ///
    /// # Errors
    /// [`StorageFull`] when a disk has no more than its floor.
    pub fn require_room(&self) -> Result<(), StorageFull> {
        if self.has_room() { Ok(()) } else { Err(StorageFull) }
    }

    /// Announces a file of this length, or a first part of a file of unknown length.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] when the disk would fall below its floor, with what others have announced.
    pub fn reserve(&self, length: Option<u64>) -> io::Result<DiskReservation> {
        let mut reservation = DiskReservation::new(self.clone());
        match length {
            Some(bytes) => reservation.require_exactly(bytes)?,
            None => reservation.require(1)?,
        }
        Ok(reservation)
    }

    fn target(&self) -> Option<&Volume> {
        self.0.target.as_deref()
    }
}

/// Measures the bytes of a folder's disk that this process may still take. Blocks: a network file system may be slow to answer.
///
/// # Errors
/// [`io::Error`] when the folder does not exist or its disk cannot be measured.
pub fn available_bytes(folder: &Path) -> io::Result<u64> {
    Space::measure(folder).map(|space| space.free_bytes)
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
        assert_eq!(full.require_room(), Err(StorageFull));
        assert!(DiskSpace::new(vec![folder.path().join("missing")], 1).has_room());
        assert!(!DiskSpace::new(Vec::new(), u64::MAX).with_folder(folder.path().to_owned()).has_room());
    }

    #[test]
    fn folders_of_one_disk_share_announced_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![folder.path().to_owned(), folder.path().to_owned()], 1);
        let files = disk.with_folder(folder.path().to_owned());
        disk.target().unwrap().ledger().set_free(Some(100 << 20), 0);
        assert_eq!((disk.0.volumes.len(), files.0.volumes.len()), (1, 1));

        let announced = disk.reserve(Some(60 << 20)).unwrap();

        assert_eq!(files.reserve(Some(60 << 20)).unwrap_err().kind(), io::ErrorKind::StorageFull);
        drop(announced);
        files.reserve(Some(60 << 20)).unwrap();
    }

    #[test]
    fn disk_without_a_floor_needs_no_announcements() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![folder.path().to_owned()], 0);

        disk.reserve(Some(u64::MAX)).unwrap();
        DiskSpace::default().reserve(Some(u64::MAX)).unwrap();
    }
}
