//! The data folder, which is accessible to its owner only and is used by one process at a time.

use std::error::Error;
use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tracing::warn;
use uuid::Uuid;

/// The longest content of the lock file that is read, in bytes.
const MAX_LOCK_BYTES: u64 = 256;
/// Time for which a start waits for the lock of the data folder. A parser process that a killed server was about to start has the lock
/// until it executes its program, for a few milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// The name of the folder of stored files in the data folder.
pub const FILES_FOLDER: &str = "files";

/// Returns the path of the SQLite database in the data folder.
pub fn database_file(data_dir: &Path) -> PathBuf {
    data_dir.join("carrel.db")
}

/// Locks the data folder for this process as long as the file is open: two processes on one index would damage it. Blocks for at most
/// two seconds.
///
/// # Errors
/// A message that says that another process holds the lock, or that the lock file cannot be created.
pub fn lock(folder: &Path) -> Result<File, Box<dyn Error + Send + Sync>> {
    let path = lock_file(folder);
    // The file is not truncated: it holds the id of the folder.
    let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    let file = file.map_err(|cause| format!("could not open the file {}: {cause}", path.display()))?;
    match lock_within(LOCK_TIMEOUT, &file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let folder = folder.display();
            Err(format!(
                "data_dir {folder} is in use by another running carrel; stop that one, or set another data_dir and server.listen"
            )
            .into())
        }
        Err(TryLockError::Error(cause)) => {
            Err(format!("could not lock the file {}: {cause}", path.display()).into())
        }
    }
}

/// Returns whether a process has locked the data folder; `None` if the lock file cannot be read. Creates nothing.
pub fn is_locked(folder: &Path) -> Option<bool> {
    let file = match File::open(lock_file(folder)) {
        Ok(file) => file,
        Err(cause) => return (cause.kind() == io::ErrorKind::NotFound).then_some(false),
    };
    // Shared, so that two commands that ask at the same time do not find each other.
    match file.try_lock_shared() {
        Ok(()) => Some(false),
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

fn lock_file(folder: &Path) -> PathBuf {
    folder.join("carrel.lock")
}

fn lock_within(timeout: Duration, file: &File) -> Result<(), TryLockError> {
    let started_at = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if started_at.elapsed() < timeout => thread::sleep(LOCK_INTERVAL),
            locked => return locked,
        }
    }
}

/// Returns the id of a data folder, which the file of its lock keeps. As long as the lock is held, no other living process has this
/// id. A copy of the folder has another one. If the id cannot be stored, on a full disk for example, it is a temporary one.
///
/// `carrel.id`, by which the database identifies the index of the folder, is a separate id, which a copy keeps.
pub fn folder_id(lock: &mut File) -> Uuid {
    kept_id(lock).unwrap_or_else(|error| {
        warn!(%error, "could not store the id of data_dir: if this process dies, its jobs wait until their leases expire");
        Uuid::new_v4()
    })
}

fn kept_id(lock: &mut File) -> io::Result<Uuid> {
    let found = lock.metadata()?;
    // Bound to device and inode: the process of a copy, or of a restored backup, must not end the leases of this one.
    let place = format!("{} {}", found.dev(), found.ino());
    let mut content = Vec::new();
    lock.seek(SeekFrom::Start(0))?;
    (&*lock).take(MAX_LOCK_BYTES).read_to_end(&mut content)?;
    let content = String::from_utf8_lossy(&content);
    let kept = content.trim_end().split_once(' ').filter(|(_, kept)| *kept == place);
    if let Some(id) = kept.and_then(|(id, _)| Uuid::try_parse(id).ok()) {
        return Ok(id);
    }
    let id = Uuid::new_v4();
    // A `kill -9` before the write leaves an empty file, and the next start stores a new id.
    lock.set_len(0)?;
    lock.seek(SeekFrom::Start(0))?;
    lock.write_all(format!("{id} {place}\n").as_bytes())?;
    lock.sync_all()?;
    Ok(id)
}

/// Creates a folder that only its owner may open, if it does not exist. One that exists keeps its permissions.
///
/// # Errors
/// [`io::Error`] when the folder cannot be created, or given to the owner of the folder around it.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    give_to_owner(folder)
}

/// Changes the owner of a file that a command created as root to the owner of its folder, because the server may run as another
/// account. Links are not followed.
///
/// # Errors
/// [`io::Error`] when the owner cannot be read or changed.
pub fn give_to_owner(made: &Path) -> io::Result<()> {
    let Some(folder) = made.parent().filter(|folder| folder.is_dir()) else { return Ok(()) };
    let around = std::fs::metadata(folder)?;
    // `lchown` does not follow a link that another user may have put there meanwhile.
    if rustix::process::geteuid().is_root() && around.uid() != 0 {
        lchown(made, Some(around.uid()), Some(around.gid()))?;
    }
    Ok(())
}

/// Changes the owner of a folder and of everything in it as [`give_to_owner`] does.
///
/// # Errors
/// [`io::Error`] when the folder cannot be read, or an owner cannot be read or changed.
pub fn give_all_to_owner(made: &Path) -> io::Result<()> {
    give_to_owner(made)?;
    for entry in std::fs::read_dir(made)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            give_all_to_owner(&entry.path())?;
        } else {
            give_to_owner(&entry.path())?;
        }
    }
    Ok(())
}

/// Returns whether other users may read the folder. One that existed before keeps its permissions.
pub fn is_open_to_others(folder: &Path) -> bool {
    std::fs::metadata(folder).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

/// Makes the files in the folder accessible to their owner only: the database creates them with the usual permissions.
pub fn private_files(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let narrowed = std::fs::set_permissions(entry.path(), Permissions::from_mode(0o600));
            if let Err(error) = narrowed {
                warn!(%error, "could not restrict a file of the data folder to its owner");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_keeps_its_id_and_a_copy_gets_its_own() {
        let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());

        let first = folder_id(&mut lock(folder.path()).unwrap());
        let second = folder_id(&mut lock(folder.path()).unwrap());
        std::fs::copy(folder.path().join("carrel.lock"), copy.path().join("carrel.lock")).unwrap();
        let copied = folder_id(&mut lock(copy.path()).unwrap());

        assert_eq!(first, second);
        assert_ne!(first, copied);
        assert_eq!(copied, folder_id(&mut lock(copy.path()).unwrap()));
    }

    #[test]
    fn lock_is_seen_as_long_as_it_is_held() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(is_locked(folder.path()), Some(false));
        assert!(!folder.path().join("carrel.lock").exists());

        let held = lock(folder.path()).unwrap();
        assert_eq!(is_locked(folder.path()), Some(true));

        drop(held);
        assert_eq!(is_locked(folder.path()), Some(false));
    }

    /// Covers the fault table (row 1).
    #[test]
    fn lock_waits_for_a_process_that_is_about_to_release_it() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        let release = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            drop(held);
        });

        assert!(lock(folder.path()).is_ok());

        release.join().unwrap();
    }

    #[test]
    fn lock_of_a_folder_in_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let _held = lock(folder.path()).unwrap();

        let refused = lock(folder.path()).unwrap_err().to_string();

        assert!(refused.contains("is in use by another running carrel; stop that one"), "{refused}");
    }

    #[test]
    fn lock_file_of_another_version_gets_an_id() {
        let folder = tempfile::tempdir().unwrap();
        for content in [b"".as_slice(), b"1234\n", &[0xff; 1000]] {
            std::fs::write(folder.path().join("carrel.lock"), content).unwrap();

            let id = folder_id(&mut lock(folder.path()).unwrap());

            assert_eq!(id, folder_id(&mut lock(folder.path()).unwrap()));
        }
    }
}
