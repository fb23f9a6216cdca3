//! Files that live as long as somebody works on them, in a folder of this service alone. What a crash left there is
//! removed at the next start.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use crate::disk::DiskSpace;

/// The folder. Clones share it.
#[derive(Clone, Debug)]
pub struct Scratch {
    folder: Arc<Path>,
    disk: DiskSpace,
}

impl Scratch {
    /// Makes the folder, or empties it: whoever wrote there is gone, the folder above it belongs to one service.
    ///
    /// # Errors
    /// The folder can be neither emptied nor made.
    pub fn open(folder: PathBuf, disk: DiskSpace) -> io::Result<Self> {
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(Self { folder: folder.into(), disk })
    }

    /// Whether files may grow: not where the disks of the service have reached their floor.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`].
    pub fn require_room(&self) -> io::Result<()> {
        if self.disk.has_room() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    /// A new file, empty, for its owner alone.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn file(&self) -> io::Result<(ScratchFile, std::fs::File)> {
        let path = self.folder.join(Uuid::new_v4().to_string());
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((ScratchFile { path }, file))
    }
}

/// A file of the folder; it goes away with this.
#[derive(Debug)]
pub struct ScratchFile {
    path: PathBuf,
}

impl ScratchFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, "could not remove a file that was worked on");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_away_with_its_holder_and_what_a_crash_left_at_the_next_start() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("scratch");
        let scratch = Scratch::open(folder.clone(), DiskSpace::default()).unwrap();

        let (held, _) = scratch.file().unwrap();
        let path = held.path().to_owned();
        assert!(path.exists());
        drop(held);
        assert!(!path.exists());

        let (lost, _) = scratch.file().unwrap();
        std::mem::forget(lost);
        Scratch::open(folder.clone(), DiskSpace::default()).unwrap();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}
