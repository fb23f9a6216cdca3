//! Space that is set aside on a disk, for when others have filled it.
//!
//! SQLite makes the index of its write-ahead log when it opens, and the passage index maps files of a few MiB: without space for
//! them neither could even be read. And sign-in, revocation and deletion write: up to 4 MB to the log before SQLite checkpoints it,
//! as much to the database then, and deleted texts once more as zeros. So a part is given back while the service runs, and the
//! rest when it starts on a full disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

/// Kept for a start: opening the database and the index takes under 1 MiB.
pub const START_BYTES: u64 = 4 << 20;
/// Released while the service runs. With more than [`super::MIN_FREE_TO_DELETE_BYTES`] the index takes deletions too.
const RUNNING_BYTES: u64 = 12 << 20;
const RESERVE_BYTES: u64 = START_BYTES + RUNNING_BYTES;
const CHUNK_BYTES: u64 = 1 << 20;
/// The folder may be one that other programs use too.
const FILE_NAME: &str = "carrel.space-reserve";

/// The file that holds the space.
#[derive(Debug)]
pub struct SpaceReserve {
    path: PathBuf,
}

impl SpaceReserve {
    /// The file of this folder. Nothing is set aside yet.
    pub fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join(FILE_NAME) }
    }

    /// Bytes that are not set aside: released, or not taken yet.
    pub fn missing_bytes(&self) -> u64 {
        RESERVE_BYTES.saturating_sub(self.length().unwrap_or(0))
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
        let filled = match fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(&mut file),
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

/// For file systems that do not allocate on demand. A sparse file would set nothing aside; on one that compresses, this does not
/// either.
fn write_zeros(file: &mut File) -> io::Result<()> {
    let zeros = vec![0; CHUNK_BYTES as usize];
    file.seek(SeekFrom::Start(0))?;
    for _ in 0..RESERVE_BYTES / CHUNK_BYTES {
        file.write_all(&zeros)?;
    }
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
        assert_eq!(reserve.missing_bytes(), RUNNING_BYTES);
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

        write_zeros(&mut file).unwrap();

        assert!(allocated(&folder) >= RESERVE_BYTES);
        assert_eq!(SpaceReserve::in_folder(folder.path()).missing_bytes(), 0);
    }
}
