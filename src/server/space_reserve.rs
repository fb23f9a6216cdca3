//! Space that is set aside in `data_dir`, so that the service can start on a full disk.
//!
//! SQLite makes the index of its write-ahead log when it opens, and the passage index maps files of a few MiB. Without space for
//! them neither could even be read. The file is removed before they open on a full disk, and made again once there is space.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use actors::disk::available_bytes;
use tracing::{info, warn};

/// Bytes set aside: opening the database and the index takes under 1 MiB.
const RESERVE_BYTES: u64 = 4 << 20;
/// Space is set aside only where so much stays free besides.
const MIN_FREE_BESIDES_BYTES: u64 = 4 * RESERVE_BYTES;
const CHUNK_BYTES: usize = 1 << 20;
/// How often the reserve is looked at: soon after space was freed, a disk may fill up again.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Gives the space back where the disk has less than that left.
///
/// # Errors
/// The disk cannot be measured, or the file not be removed.
pub fn release_if_full(data_dir: &Path) -> io::Result<()> {
    release(data_dir, available_bytes(data_dir)?)
}

fn release(data_dir: &Path, free_bytes: u64) -> io::Result<()> {
    if free_bytes >= RESERVE_BYTES {
        return Ok(());
    }
    match fs::remove_file(path(data_dir)) {
        Ok(()) => {
            info!("the disk is full: the space that was set aside is used to start");
            Ok(())
        }
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// Sets the space aside, now and whenever it was used and there is space again. Runs until it is aborted.
pub async fn keep(data_dir: PathBuf) {
    loop {
        let folder = data_dir.clone();
        let _ = tokio::task::spawn_blocking(move || {
            // A disk that cannot be measured has no space to be set aside.
            set_aside(&folder, available_bytes(&folder).unwrap_or(0));
        })
        .await;
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// Sets the space aside, unless it is already, or the disk has little left. A failure is no reason not to serve.
fn set_aside(data_dir: &Path, free_bytes: u64) {
    let file = path(data_dir);
    let is_there = fs::metadata(&file).is_ok_and(|found| found.len() == RESERVE_BYTES);
    if is_there || free_bytes < RESERVE_BYTES + MIN_FREE_BESIDES_BYTES {
        return;
    }
    if let Err(cause) = write(&file) {
        warn!(%cause, "could not set space aside for starting on a full disk");
        let _ = fs::remove_file(&file);
    }
}

/// Real blocks: a sparse file would set nothing aside. On a file system that compresses, this sets nothing aside either.
fn write(path: &Path) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    let zeros = vec![0; CHUNK_BYTES];
    for _ in 0..RESERVE_BYTES / CHUNK_BYTES as u64 {
        file.write_all(&zeros)?;
    }
    // A file system may find only now that it has no space for them.
    file.sync_all()
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("space-reserve")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const MUCH: u64 = RESERVE_BYTES + MIN_FREE_BESIDES_BYTES;
    /// In which `st_blocks` counts, whatever the file system.
    const BLOCK_BYTES: u64 = 512;

    fn reserve(data_dir: &Path) -> Option<fs::Metadata> {
        fs::metadata(path(data_dir)).ok()
    }

    #[test]
    fn reserve_has_blocks_until_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();

        set_aside(folder.path(), MUCH);

        let made = reserve(folder.path()).unwrap();
        assert!(made.blocks() * BLOCK_BYTES >= RESERVE_BYTES, "{} blocks", made.blocks());
        release(folder.path(), RESERVE_BYTES).unwrap();
        assert!(reserve(folder.path()).is_some());
        release(folder.path(), RESERVE_BYTES - 1).unwrap();
        assert!(reserve(folder.path()).is_none());
        release(folder.path(), 0).unwrap();
    }

    #[test]
    fn reserve_is_made_once_and_only_where_there_is_room() {
        let folder = tempfile::tempdir().unwrap();

        set_aside(folder.path(), MUCH - 1);
        assert!(reserve(folder.path()).is_none());

        set_aside(folder.path(), MUCH);
        let made = reserve(folder.path()).unwrap();
        set_aside(folder.path(), MUCH);
        let kept = reserve(folder.path()).unwrap();
        assert_eq!((made.mtime(), made.mtime_nsec()), (kept.mtime(), kept.mtime_nsec()));
    }

    #[test]
    fn reserve_that_was_cut_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(path(folder.path()), "a part").unwrap();

        set_aside(folder.path(), MUCH);

        assert!(reserve(folder.path()).unwrap().blocks() * BLOCK_BYTES >= RESERVE_BYTES);
    }
}
