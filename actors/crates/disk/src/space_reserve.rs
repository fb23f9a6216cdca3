//! Space that is set aside on a disk, for when others have filled it.
//!
//! SQLite makes the index of its write-ahead log when it opens, and the passage index maps files of a few MiB: without space for
//! them neither could even be read. And sign-in, revocation and deletion write: up to 4 MB to the log before SQLite checkpoints it,
//! as much to the database then, and deleted texts once more as zeros. So a part is given back while the service runs, and the
//! rest when it starts on a full disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::space::Space;

/// Kept for a start: opening the database and the index takes under 1 MiB.
pub const START_BYTES: u64 = 4 << 20;
/// The whole reserve. What is not kept for a start is released while the service runs: with more than
/// [`super::MIN_FREE_TO_DELETE_BYTES`] the index takes deletions too.
const RESERVE_BYTES: u64 = 16 << 20;
/// Of a small disk the reserve takes only this part, but enough for a start.
const MAX_PART_OF_DISK: u64 = 8;
/// The folder may be one that other programs use too.
const FILE_NAME: &str = "carrel.space-reserve";

/// The file that holds the space.
#[derive(Debug)]
pub struct SpaceReserve {
    path: PathBuf,
    bytes: u64,
}

impl SpaceReserve {
    /// The file of this folder. Nothing is set aside yet.
    pub fn in_folder(folder: &Path) -> Self {
        let bytes = Space::measure(folder).map_or(RESERVE_BYTES, |space| reserve_bytes(space.total_bytes));
        Self { path: folder.join(FILE_NAME), bytes }
    }

    /// Bytes that are not set aside: released, or not taken yet.
    pub fn missing_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.length().unwrap_or(0))
    }

    /// Gives all of it back; whether there was any.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(cause) => Err(cause),
        }
    }

    /// Gives back what is not kept for a start; whether there was any.
    ///
    /// # Errors
    /// The file cannot be cut.
    pub fn shrink(&self) -> io::Result<bool> {
        if self.length().unwrap_or(0) <= START_BYTES {
            return Ok(false);
        }
        OpenOptions::new().write(true).open(&self.path)?.set_len(START_BYTES)?;
        Ok(true)
    }

    /// Sets all of it aside.
    ///
    /// # Errors
    /// The file cannot be written; no more is set aside then than before.
    pub fn fill(&self) -> io::Result<()> {
        let before = self.length().unwrap_or(0);
        let mut file =
            OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&self.path)?;
        let filled = match fallocate(&file, FallocateFlags::empty(), 0, self.bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(&mut file, self.bytes),
            filled => filled.map_err(Into::into),
        };
        if filled.is_err() {
            let _ = file.set_len(before);
        }
        filled
    }

    fn length(&self) -> io::Result<u64> {
        Ok(fs::metadata(&self.path)?.len())
    }
}

/// How much is set aside on a disk of this size.
fn reserve_bytes(disk_bytes: u64) -> u64 {
    (disk_bytes / MAX_PART_OF_DISK).clamp(START_BYTES, RESERVE_BYTES)
}

/// For file systems that do not allocate on demand. A sparse file would set nothing aside; on one that compresses, this does not
/// either.
fn write_zeros(file: &mut File, bytes: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    io::copy(&mut io::repeat(0).take(bytes), file)?;
    // A file system may find only now that it has no space for them.
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// In which `st_blocks` counts, whatever the file system.
    const BLOCK_BYTES: u64 = 512;

    /// Bytes that the file takes on the disk.
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
