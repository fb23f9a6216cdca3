//! The folder of the data: its owner's alone, and one process's at a time.

use std::error::Error;
use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use tracing::warn;

/// Where an own SQLite database is.
pub fn database_file(data_dir: &Path) -> PathBuf {
    data_dir.join("carrel.db")
}

/// Takes the data folder for this process alone, for as long as the file is open: two on one index would damage it.
///
/// # Errors
/// Another process has it, or the file of the lock cannot be made.
pub fn lock(folder: &Path) -> Result<File, Box<dyn Error + Send + Sync>> {
    let file = File::options().create(true).truncate(false).write(true).open(folder.join("carrel.lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(format!("data_dir {} is in use by another running carrel", folder.display()).into())
        }
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// A folder that its owner alone may open.
///
/// # Errors
/// It cannot be made.
pub fn private_folder(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    give_to_owner(folder)
}

/// What root made, with a command beside a service of another account, is the owner's of the folder in which it stands. A link
/// is not followed.
///
/// # Errors
/// The owner cannot be told, or nothing be given.
pub fn give_to_owner(made: &Path) -> std::io::Result<()> {
    let Some(folder) = made.parent().filter(|folder| folder.is_dir()) else { return Ok(()) };
    let around = std::fs::metadata(folder)?;
    if rustix::process::geteuid().is_root() && around.uid() != 0 {
        lchown(made, Some(around.uid()), Some(around.gid()))?;
    }
    Ok(())
}

/// Whether others may look into the folder: one that was there before keeps its rights.
pub fn is_open_to_others(folder: &Path) -> bool {
    std::fs::metadata(folder).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

/// The files of the database were made with the process's usual rights: from now on their owner's alone.
pub fn private_files(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let narrowed = std::fs::set_permissions(entry.path(), Permissions::from_mode(0o600));
            if let Err(error) = narrowed {
                warn!(%error, "could not keep a file of the data folder to its owner");
            }
        }
    }
}
