//! One disk that the server writes to.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing::{info, warn};

use super::file_system_stats::{FileSystemStats, available_bytes};
use super::free_space::FreeSpace;
use super::space_level::SpaceLevel;
use super::space_reserve::{START_BYTES, SpaceReserve};

/// Interval between measurements of a disk.
const MEASUREMENT_INTERVAL: Duration = Duration::from_millis(250);
/// Number of measurements between attempts to refill the reserve, and between reports that there is room again. Not each one, because
/// a disk may fill up again soon after space was freed.
const MEASUREMENTS_PER_REFILL: u64 = 20;
/// Free space in addition to the reserve and the floor that is required for a refill. With less the reserve would soon be released
/// again.
const MIN_FREE_BESIDES_RESERVE_BYTES: u64 = 8 << 20;

/// The disk of a folder with its last measurement.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    /// Device number, which identifies the disk; `None` if the folder does not exist.
    device: Option<u64>,
    min_free_bytes: u64,
    /// The space that is set aside on it.
    reserve: Option<SpaceReserve>,
    /// The last [`SpaceLevel`] as a number, so that requests read it without a lock.
    level: AtomicU8,
    /// Whether the last measurement failed.
    is_unknown: AtomicBool,
    /// Whether the log says that the disk has too little space.
    is_reported: AtomicBool,
    free_space: Mutex<FreeSpace>,
}

impl Disk {
    /// Creates the disk of a folder and measures it.
    pub fn new(folder: PathBuf, reserve: Option<SpaceReserve>, min_free_bytes: u64) -> Self {
        let device = std::fs::metadata(&folder).ok().map(|found| found.dev());
        let disk = Self {
            folder,
            device,
            min_free_bytes,
            reserve,
            level: AtomicU8::new(SpaceLevel::AboveFloor as u8),
            is_unknown: AtomicBool::new(false),
            is_reported: AtomicBool::new(false),
            free_space: Mutex::default(),
        };
        disk.measure();
        disk
    }

    /// Returns whether both folders are on the same disk.
    pub fn is_same_disk(&self, other: &Self) -> bool {
        self.device.is_some() && self.device == other.device
    }

    /// Returns the level that was measured last.
    pub fn level(&self) -> SpaceLevel {
        SpaceLevel::from_number(self.level.load(Ordering::Relaxed))
    }

    /// Returns the free space and its announced bytes, locked.
    pub fn free_space(&self) -> MutexGuard<'_, FreeSpace> {
        self.free_space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces bytes before they are written, if there is room above the floor. Returns whether they were announced.
    pub fn announce(&self, bytes: u64) -> bool {
        self.min_free_bytes == 0 || self.free_space().announce(bytes, self.min_free_bytes)
    }

    /// Releases all space that is set aside, if too little is left to open the database and the index.
    ///
    /// # Errors
    /// [`io::Error`] when the disk cannot be measured or the space cannot be released.
    pub fn release_to_start(&self) -> io::Result<()> {
        let Some(reserve) = &self.reserve else { return Ok(()) };
        // Measured again: other programs may have used the space since the last measurement.
        if available_bytes(&self.folder)? < START_BYTES && reserve.remove()? {
            info!("the disk is full: the space reserve was released for the start");
        }
        self.measure();
        Ok(())
    }

    /// Measures the disk until this is dropped. A measurement that hangs, such as on an unreachable network file system, keeps the
    /// last level.
    pub async fn watch(self: Arc<Self>) {
        for round in 0_u64.. {
            let disk = self.clone();
            // `statvfs` blocks for as long as a network file system does not answer.
            let _ = tokio::task::spawn_blocking(move || disk.check(round)).await;
            tokio::time::sleep(MEASUREMENT_INTERVAL).await;
        }
    }

    fn check(&self, round: u64) {
        let level = self.measure();
        self.report(level, round);
        let Some(reserve) = &self.reserve else { return };
        if level == SpaceLevel::Full {
            self.release(reserve, round);
        } else if round.is_multiple_of(MEASUREMENTS_PER_REFILL) {
            self.refill(reserve);
        }
    }

    /// Logs once that the disk has fallen to its floor, and once that it has room again.
    fn report(&self, level: SpaceLevel, round: u64) {
        let (folder, min_free_bytes) = (self.folder.display(), self.min_free_bytes);
        let free_bytes = || available_bytes(&self.folder).unwrap_or_default();
        if level < SpaceLevel::AboveFloor {
            if !self.is_reported.swap(true, Ordering::Relaxed) {
                warn!(
                    %folder,
                    free_bytes = free_bytes(),
                    min_free_bytes,
                    "a disk has less free space than storage.min_free_bytes or too few inodes: requests that add data are refused"
                );
            }
        // Not at each measurement, because a disk whose free space varies around the floor would fill the log.
        } else if round.is_multiple_of(MEASUREMENTS_PER_REFILL)
            && self.is_reported.swap(false, Ordering::Relaxed)
        {
            info!(
                %folder,
                free_bytes = free_bytes(),
                min_free_bytes,
                "a disk has room again: requests that add data are served"
            );
        }
    }

    /// Releases space for the writes that continue below the floor. The rest is kept for the next start.
    fn release(&self, reserve: &SpaceReserve, round: u64) {
        match reserve.shrink() {
            Ok(false) => {}
            Ok(true) => {
                warn!(
                    folder = %self.folder.display(),
                    "the disk is full: the space reserve was released for sign-in, revocation and deletion"
                );
                self.measure();
            }
            Err(cause) if round.is_multiple_of(MEASUREMENTS_PER_REFILL) => {
                warn!(%cause, "could not release the space reserve");
            }
            // Logged before, and soon again.
            Err(_) => {}
        }
    }

    /// Sets space aside again. A failure does not stop the server.
    fn refill(&self, reserve: &SpaceReserve) {
        let has_room = self.free_space().has_room_for(MIN_FREE_BESIDES_RESERVE_BYTES, self.min_free_bytes);
        if !has_room || reserve.missing_bytes() == 0 {
            return;
        }
        match reserve.fill() {
            Ok(()) => info!(folder = %self.folder.display(), "filled the space reserve"),
            Err(cause) => warn!(%cause, "could not fill the space reserve"),
        }
    }

    fn measure(&self) -> SpaceLevel {
        // Read before the measurement, so that bytes which are written while it runs stay counted.
        let written_before = self.free_space().written_bytes();
        let found = self.measure_stats();
        // The missing part of the reserve is not available to writers: it is to be refilled, or was released for work below the floor.
        let missing = self.reserve.as_ref().map_or(0, SpaceReserve::missing_bytes);
        // A disk that cannot be measured counts as free: otherwise a server on it would refuse every write.
        let level = found.map_or(SpaceLevel::AboveFloor, |stats| stats.level(missing, self.min_free_bytes));
        let for_writers = found.map(|stats| stats.free_bytes.saturating_sub(missing));
        self.free_space().set_free(for_writers, written_before);
        self.level.store(level as u8, Ordering::Relaxed);
        level
    }

    /// Returns the measured numbers; `None` if the disk cannot be measured, which is logged once.
    fn measure_stats(&self) -> Option<FileSystemStats> {
        match FileSystemStats::measure(&self.folder) {
            Ok(stats) => {
                self.is_unknown.store(false, Ordering::Relaxed);
                Some(stats)
            }
            Err(error) => {
                if !self.is_unknown.swap(true, Ordering::Relaxed) {
                    warn!(%error, folder = %self.folder.display(), "could not measure the free space of a disk");
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserve_is_filled(folder: &tempfile::TempDir) -> bool {
        SpaceReserve::in_folder(folder.path()).missing_bytes() == 0
    }

    fn disk(folder: &tempfile::TempDir, min_free_bytes: u64) -> Disk {
        let reserve = SpaceReserve::in_folder(folder.path());
        Disk::new(folder.path().to_owned(), Some(reserve), min_free_bytes)
    }

    #[test]
    fn reserve_is_filled_where_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let full = disk(&folder, u64::MAX);
        assert_eq!(full.level(), SpaceLevel::BelowFloor);
        full.check(0);
        assert!(!reserve_is_filled(&folder));

        let disk = disk(&folder, 1);
        disk.check(1);
        assert!(!reserve_is_filled(&folder));
        disk.check(MEASUREMENTS_PER_REFILL);

        assert!(reserve_is_filled(&folder));
    }

    #[test]
    fn reserve_is_filled_without_a_floor_too() {
        let folder = tempfile::tempdir().unwrap();

        disk(&folder, 0).check(0);

        assert!(reserve_is_filled(&folder));
    }

    #[test]
    fn folder_that_is_missing_has_space_and_no_reserve() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let reserve = SpaceReserve::in_folder(&missing);
        let disk = Disk::new(missing.clone(), Some(reserve), 1);

        disk.check(0);

        assert_eq!(disk.level(), SpaceLevel::AboveFloor);
        assert!(disk.announce(1) && !missing.exists());
        assert!(disk.release_to_start().is_err());
    }

    #[test]
    fn floor_is_reported_once_until_there_is_room_again() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder, u64::MAX);
        let is_reported = || disk.is_reported.load(Ordering::Relaxed);
        assert!(!is_reported(), "a command that only measures the disk reports nothing");

        disk.check(1);
        assert!(is_reported());
        disk.report(SpaceLevel::AboveFloor, MEASUREMENTS_PER_REFILL + 1);
        assert!(is_reported(), "the free space may vary around the floor");
        disk.report(SpaceLevel::AboveFloor, 2 * MEASUREMENTS_PER_REFILL);

        assert!(!is_reported());
    }

    #[tokio::test]
    async fn disk_is_measured_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(disk(&folder, 1));
        disk.level.store(SpaceLevel::Full as u8, Ordering::Relaxed);

        let watching = tokio::spawn(disk.clone().watch());
        while disk.level() == SpaceLevel::Full {
            tokio::task::yield_now().await;
        }

        watching.abort();
    }
}
