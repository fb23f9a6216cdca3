//! Space that is set aside on a disk, for the case that other programs fill it.
//!
//! SQLite creates the index of its write-ahead log when it opens, and the passage index maps files of a few MiB: without space for them
//! neither could be read. Sign-in, revocation and deletion also write: up to 4 MB to the log before SQLite checkpoints it, the same amount
//! to the database then, and deleted texts again as zeros. So a part is released while the server runs, and the rest when it starts on a
//! full disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::file_system_stats::FileSystemStats;

/// Kept for a start: opening the database and the index takes under 1 MiB.
pub const START_BYTES: u64 = 4 << 20;
/// Size of the whole reserve. The part that is not kept for a start is released while the server runs. It is larger than
/// [`crate::MIN_FREE_TO_DELETE_BYTES`], so that the index accepts deletions too.
const RESERVE_BYTES: u64 = 16 << 20;
/// On a small disk the reserve takes one part in this many, but enough for a start.
const DISK_PARTS: u64 = 8;
/// The name identifies the program, because other programs may use the folder too.
const FILE_NAME: &str = "carrel.space-reserve";

/// The file that reserves the space.
#[derive(Debug)]
pub struct SpaceReserve {
    path: PathBuf,
    bytes: u64,
}

impl SpaceReserve {
    /// Returns the reserve of a folder. No space is set aside yet.
    pub fn in_folder(folder: &Path) -> Self {
        let bytes =
            FileSystemStats::measure(folder).map_or(RESERVE_BYTES, |stats| reserve_bytes(stats.total_bytes));
        Self { path: folder.join(FILE_NAME), bytes }
    }

    /// Returns the number of bytes that are not set aside, because they were released or not reserved yet.
    pub fn missing_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.length().unwrap_or(0))
    }

    /// Releases all space. Returns whether there was any.
    ///
    /// # Errors
    /// [`io::Error`] when the file cannot be removed.
    pub fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(cause) => Err(cause),
        }
    }

    /// Releases the space that is not kept for a start. Returns whether there was any.
    ///
    /// # Errors
    /// [`io::Error`] when the file cannot be truncated.
    pub fn shrink(&self) -> io::Result<bool> {
        if self.length().unwrap_or(0) <= START_BYTES {
            return Ok(false);
        }
        OpenOptions::new().write(true).open(&self.path)?.set_len(START_BYTES)?;
        Ok(true)
    }

    /// Sets all space aside, also what was released before.
    ///
    /// # Errors
    /// [`io::Error`] when the file cannot be written; then no additional space is set aside.
    pub fn fill(&self) -> io::Result<()> {
        let before = self.length().unwrap_or(0);
        let mut file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&self.path)?;
        // `set_len` would make a sparse file, which reserves nothing.
        let filled = match fallocate(&file, FallocateFlags::empty(), 0, self.bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(&mut file, self.bytes),
            filled => filled.map_err(Into::into),
        };
        // `write_zeros` may have filled the disk up to its last byte before it failed.
        if filled.is_err() {
            let _ = file.set_len(before);
        }
        filled
    }

    fn length(&self) -> io::Result<u64> {
        Ok(fs::metadata(&self.path)?.len())
    }
}

/// Returns how much is set aside on a disk of this size.
fn reserve_bytes(disk_bytes: u64) -> u64 {
    (disk_bytes / DISK_PARTS).clamp(START_BYTES, RESERVE_BYTES)
}

/// Writes zeros, for file systems without `fallocate`. A sparse file would reserve nothing. On a compressing file system zeros
/// reserve nothing either.
fn write_zeros(file: &mut File, bytes: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    io::copy(&mut io::repeat(0).take(bytes), file)?;
    // Some file systems report only now that there is no space.
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// Unit of `st_blocks` on every file system.
    const BLOCK_BYTES: u64 = 512;

    /// Returns the bytes that the file takes on the disk.
    fn allocated(folder: &tempfile::TempDir) -> u64 {
        fs::metadata(folder.path().join(FILE_NAME)).map_or(0, |found| found.blocks() * BLOCK_BYTES)
    }

    #[test]
    fn reserve_of_a_small_disk_is_smaller() {
        assert_eq!(
            [1 << 40, 128 << 20, 64 << 20, 1 << 20].map(|disk| reserve_bytes(disk) >> 20),
            [16, 16, 8, 4]
        );
    }

    #[test]
    fn reserve_takes_blocks_until_it_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = SpaceReserve::in_folder(folder.path());
        assert_eq!(reserve.missing_bytes(), RESERVE_BYTES);

        reserve.fill().unwrap();

        assert!(allocated(&folder) >= RESERVE_BYTES, "{} bytes", allocated(&folder));
        assert_eq!(reserve.missing_bytes(), 0);
        assert!(reserve.remove().unwrap());
        assert!(!reserve.remove().unwrap());
        assert_eq!(reserve.missing_bytes(), RESERVE_BYTES);
    }

    #[test]
    fn part_for_a_start_is_kept_while_the_service_runs() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = SpaceReserve::in_folder(folder.path());
        assert!(!reserve.shrink().unwrap());
        reserve.fill().unwrap();

        assert!(reserve.shrink().unwrap());

        assert!(!reserve.shrink().unwrap());
        assert_eq!(reserve.missing_bytes(), RESERVE_BYTES - START_BYTES);
        let left = allocated(&folder);
        assert!((START_BYTES..RESERVE_BYTES).contains(&left), "{left} bytes");
        reserve.fill().unwrap();
        assert!(allocated(&folder) >= RESERVE_BYTES);
    }

    #[test]
    fn reserve_that_was_cut_is_filled() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE_NAME), "a part").unwrap();
        let reserve = SpaceReserve::in_folder(folder.path());

        reserve.fill().unwrap();

        assert!(allocated(&folder) >= RESERVE_BYTES);
    }

    #[test]
    fn zeros_are_written_where_nothing_can_be_allocated() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = File::create(folder.path().join(FILE_NAME)).unwrap();

        write_zeros(&mut file, RESERVE_BYTES).unwrap();

        assert!(allocated(&folder) >= RESERVE_BYTES);
        assert_eq!(SpaceReserve::in_folder(folder.path()).missing_bytes(), 0);
    }
}
