//! One disk that the service writes to.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use tracing::warn;

use super::SpaceLevel;
use super::space::Space;

/// How often a disk is measured.
const MEASUREMENT_INTERVAL: Duration = Duration::from_millis(250);

/// The disk of a folder, as it was measured last.
#[derive(Debug)]
pub struct Volume {
    folder: PathBuf,
    /// Tells disks apart; none where the folder is not there.
    device: Option<u64>,
    min_free_bytes: u64,
    /// A [`SpaceLevel`].
    level: AtomicU8,
    /// The last measurement failed.
    is_unknown: AtomicBool,
}

impl Volume {
    /// The disk of this folder, measured once.
    pub fn new(folder: PathBuf, min_free_bytes: u64) -> Self {
        let device = std::fs::metadata(&folder).ok().map(|found| found.dev());
        let volume = Self {
            folder,
            device,
            min_free_bytes,
            level: AtomicU8::new(SpaceLevel::AboveFloor as u8),
            is_unknown: AtomicBool::new(false),
        };
        volume.measure();
        volume
    }

    /// Whether the folder of the other is on this disk too.
    pub fn is_same_disk(&self, other: &Self) -> bool {
        self.device.is_some() && self.device == other.device
    }

    /// The level that was measured last.
    pub fn level(&self) -> SpaceLevel {
        SpaceLevel::of_number(self.level.load(Ordering::Relaxed))
    }

    /// Measures the disk until this is dropped. A measurement that hangs, on a network file system that is away, is waited for:
    /// the last level holds until then.
    pub async fn watch(self: Arc<Self>) {
        loop {
            let volume = self.clone();
            let _ = tokio::task::spawn_blocking(move || volume.measure()).await;
            tokio::time::sleep(MEASUREMENT_INTERVAL).await;
        }
    }

    fn measure(&self) {
        let level = self.space().map_or(SpaceLevel::AboveFloor, |space| space.level(self.min_free_bytes));
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// None where the disk cannot be measured, which is logged once.
    fn space(&self) -> Option<Space> {
        match Space::of(&self.folder) {
            Ok(space) => {
                self.is_unknown.store(false, Ordering::Relaxed);
                Some(space)
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

    #[test]
    fn folder_that_is_missing_counts_as_one_with_space() {
        let folder = tempfile::tempdir().unwrap();

        let volume = Volume::new(folder.path().join("missing"), u64::MAX);

        assert_eq!(volume.level(), SpaceLevel::AboveFloor);
    }

    #[tokio::test]
    async fn disk_is_measured_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let volume = Arc::new(Volume::new(folder.path().to_owned(), 1));
        volume.level.store(SpaceLevel::Full as u8, Ordering::Relaxed);

        let watching = tokio::spawn(volume.clone().watch());
        while volume.level() == SpaceLevel::Full {
            tokio::task::yield_now().await;
        }

        watching.abort();
    }
}
