//! The disks that the server writes to, with their floor.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;

use super::disk::Disk;
use super::space_level::SpaceLevel;
use super::space_reserve::SpaceReserve;

/// A disk has no more free space than its floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a disk has less free space than storage.min_free_bytes")]
pub struct StorageFull;

/// The disks that are written to, and how much space they must keep. Clones share them.
#[derive(Clone, Debug)]
pub struct DiskSpace(Arc<Disks>);

#[derive(Debug)]
struct Disks {
    min_free_bytes: u64,
    /// The disks whose floor is kept.
    disks: Vec<Arc<Disk>>,
    /// The disk to which announced bytes are written; `None` without disks.
    target: Option<Arc<Disk>>,
    /// All measured disks: these, and those of [`DiskSpace::with_folder`].
    watched: Arc<Mutex<Vec<Arc<Disk>>>>,
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
        let disks = folders.into_iter().map(|folder| Disk::new(folder, None, min_free_bytes));
        Self::from_disks(disks, min_free_bytes)
    }

    /// Creates the disks as [`Self::new`] does, with space set aside on each in a file of the folder. Used by the server.
    pub fn with_reserves(folders: Vec<PathBuf>, min_free_bytes: u64) -> Self {
        let disks = folders.into_iter().map(|folder| {
            let reserve = SpaceReserve::in_folder(&folder);
            Disk::new(folder, Some(reserve), min_free_bytes)
        });
        Self::from_disks(disks, min_free_bytes)
    }

    fn from_disks(all: impl Iterator<Item = Disk>, min_free_bytes: u64) -> Self {
        let mut disks: Vec<Arc<Disk>> = Vec::new();
        for disk in all {
            // Announcements of all folders of a disk must be counted together.
            if !disks.iter().any(|known| known.is_same_disk(&disk)) {
                disks.push(Arc::new(disk));
            }
        }
        let (target, watched) = (disks.first().cloned(), Arc::new(Mutex::new(disks.clone())));
        Self(Arc::new(Disks { min_free_bytes, disks, target, watched }))
    }

    /// Returns these disks and the disk of another folder, for which announced bytes then count.
    #[must_use]
    pub fn with_folder(&self, folder: PathBuf) -> Self {
        let disk = self.watch_folder(folder);
        let mut disks = self.0.disks.clone();
        if !disks.iter().any(|known| Arc::ptr_eq(known, &disk)) {
            disks.push(disk.clone());
        }
        let (min_free_bytes, watched) = (self.0.min_free_bytes, self.0.watched.clone());
        Self(Arc::new(Disks { min_free_bytes, disks, target: Some(disk), watched }))
    }

    fn watch_folder(&self, folder: PathBuf) -> Arc<Disk> {
        // Before the lock, because the measurement blocks while a network file system does not answer.
        let disk = Disk::new(folder, None, self.0.min_free_bytes);
        let mut watched = self.0.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = watched.iter().find(|known| known.is_same_disk(&disk)) {
            return known.clone();
        }
        let disk = Arc::new(disk);
        watched.push(disk.clone());
        disk
    }

    /// Measures the disks four times a second until it is aborted, each independently: a disk that does not answer keeps its last
    /// level. Releases and refills the space that is set aside.
    pub async fn watch(self) {
        let watched = self.0.watched.lock().unwrap_or_else(PoisonError::into_inner).clone();
        join_all(watched.into_iter().map(Disk::watch)).await;
    }

    /// Releases the space that is set aside, if a disk has too little left to open the database and the index.
    ///
    /// # Errors
    /// [`io::Error`] when a disk cannot be measured or its space cannot be released.
    pub fn release_reserves_to_start(&self) -> io::Result<()> {
        self.0.disks.iter().try_for_each(|disk| disk.release_to_start())
    }

    /// Returns the level of the fullest disk, from the last measurement. A disk that cannot be measured counts as one with space: if
    /// it has none, its writes fail.
    pub fn level(&self) -> SpaceLevel {
        self.0.disks.iter().map(|disk| disk.level()).min().unwrap_or(SpaceLevel::AboveFloor)
    }

    /// Returns the free bytes of the fullest disk, from the last measurement; `None` without disks, or if none could be measured.
    pub fn free_bytes(&self) -> Option<u64> {
        self.0.disks.iter().filter_map(|disk| disk.free_space().free_bytes()).min()
    }

    /// Returns the free bytes that every disk must keep; 0 means no floor.
    pub fn min_free_bytes(&self) -> u64 {
        self.0.min_free_bytes
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

    pub(super) fn target(&self) -> Option<&Disk> {
        self.0.target.as_deref()
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
        assert_eq!(full.require_room(), Err(StorageFull));
        assert!(DiskSpace::new(vec![folder.path().join("missing")], 1).has_room());
        assert!(!DiskSpace::new(Vec::new(), u64::MAX).with_folder(folder.path().to_owned()).has_room());
    }

    #[test]
    fn folders_of_one_disk_share_announced_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![folder.path().to_owned(), folder.path().to_owned()], 1);
        let files = disk.with_folder(folder.path().to_owned());
        disk.target().unwrap().free_space().set_free(Some(100 << 20), 0);
        assert_eq!((disk.0.disks.len(), files.0.disks.len()), (1, 1));

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
