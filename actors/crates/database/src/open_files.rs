//! The files of an SQLite database while it is open: whether they are still at their paths.
//!
//! A file that is removed, moved or replaced stays open, and SQLite continues to write to it. Such writes are acknowledged, and
//! lost when the file is closed. So the device and inode of each file are compared with those at its path.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use disk::FileIdentity;
use rustix::fs::{Access, Mode, OFlags, access, open};
use rustix::io::Errno;
use tracing::error;

use super::file_names::{LOG_SUFFIX, with_suffix};

/// The write-ahead log and its index. SQLite removes them only when the last connection of all processes is closed.
const COMPANIONS: [&str; 2] = [LOG_SUFFIX, "-shm"];

/// The state of the path of an open database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabasePath {
    /// The path leads to the open file.
    Own,
    /// There is no file at the path.
    Free,
    /// Another file is at the path.
    Taken,
}

/// The database file and its companions, as they were when the database was opened.
#[derive(Debug)]
pub(super) struct OpenFiles(Vec<OpenFile>);

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    identity: FileIdentity,
    /// Advice for the operator when the file is not at its path.
    advice: &'static str,
}

impl OpenFiles {
    /// Returns the files of a database that is open. A companion that does not exist, as without a write-ahead log, is left out.
    ///
    /// # Errors
    /// [`io::Error`] when the database file cannot be inspected.
    pub(super) fn of(database: &Path) -> io::Result<Self> {
        let advice = "move the file back to where it was, or stop the server and restore a backup";
        let identity = FileIdentity::from(&fs::metadata(database)?);
        let mut files = vec![OpenFile { path: database.to_owned(), identity, advice }];
        for suffix in COMPANIONS {
            let path = with_suffix(database, suffix);
            if let Ok(found) = fs::metadata(&path) {
                let identity = FileIdentity::from(&found);
                let advice = "stop the server with SIGTERM and start it again: it saves the content of the file when it stops";
                files.push(OpenFile { path, identity, advice });
            }
        }
        Ok(Self(files))
    }

    /// Returns the first file that is not at its path.
    fn first_displaced(&self) -> Option<&OpenFile> {
        self.0.iter().find(|file| !file.is_in_place())
    }

    /// Returns the database file, as it was opened.
    pub(super) fn database(&self) -> Option<&Path> {
        self.0.first().map(|file| file.path.as_path())
    }

    /// Returns the state of the path of the database file.
    pub(super) fn database_path(&self) -> DatabasePath {
        match self.0.first() {
            Some(file) if !file.is_in_place() && file.path.exists() => DatabasePath::Taken,
            Some(file) if !file.is_in_place() => DatabasePath::Free,
            Some(_) | None => DatabasePath::Own,
        }
    }

    /// Returns whether each file is at its path.
    pub(super) fn are_in_place(&self) -> bool {
        self.first_displaced().is_none()
    }

    /// Returns whether this process has the right to write to the files, and their file system takes writes.
    pub(super) fn are_writable(&self) -> bool {
        self.0.iter().all(|file| access(&file.path, Access::WRITE_OK).is_ok())
            && self.is_file_system_writable()
    }

    /// Creates an unnamed file, because `access` does not report that ext4 has become read-only after an error. The files of the
    /// database cannot be opened for this: closing them would release the locks of SQLite.
    fn is_file_system_writable(&self) -> bool {
        let Some(folder) = self.0.first().and_then(|file| file.path.parent()) else { return false };
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        // If unnamed files are not supported, the error has no meaning.
        let not_writable = [Errno::ROFS, Errno::NOSPC, Errno::DQUOT, Errno::IO];
        open(folder, flags, Mode::RUSR | Mode::WUSR).err().is_none_or(|error| !not_writable.contains(&error))
    }

    /// Logs which file is missing and what to do.
    pub(super) fn report_displaced(&self) {
        if let Some(OpenFile { path, advice, .. }) = self.first_displaced() {
            error!(
                file = %path.display(),
                advice,
                "a file of the database was removed or replaced while the server runs: writes are stopped"
            );
        }
    }
}

impl OpenFile {
    /// If the path cannot be inspected for another reason, such as a failing disk, the file counts as in place.
    fn is_in_place(&self) -> bool {
        match fs::metadata(&self.path) {
            Ok(found) => FileIdentity::from(&found) == self.identity,
            Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with the files of an open database.
    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = Self(tempfile::tempdir().unwrap());
            for name in ["a.db", "a.db-wal", "a.db-shm"] {
                fs::write(folder.path(name), name).unwrap();
            }
            folder
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn open(&self) -> OpenFiles {
            OpenFiles::of(&self.path("a.db")).unwrap()
        }
    }

    #[test]
    fn removed_file_is_displaced_until_it_is_restored() {
        let folder = Folder::new();
        let open = folder.open();
        assert!(open.are_in_place());

        for name in ["a.db", "a.db-wal", "a.db-shm"] {
            fs::rename(folder.path(name), folder.path("elsewhere")).unwrap();
            assert!(!open.are_in_place(), "{name}");
            fs::rename(folder.path("elsewhere"), folder.path(name)).unwrap();
            assert!(open.are_in_place(), "{name}");
        }
    }

    #[test]
    fn another_file_of_the_same_content_is_not_in_place() {
        let folder = Folder::new();
        let open = folder.open();

        fs::copy(folder.path("a.db"), folder.path("copy")).unwrap();
        fs::rename(folder.path("copy"), folder.path("a.db")).unwrap();

        assert!(!open.are_in_place());
    }

    #[test]
    fn moved_folder_displaces_its_files() {
        let folder = Folder::new();
        fs::create_dir(folder.path("data")).unwrap();
        fs::write(folder.path("data/b.db"), "b").unwrap();
        let open = OpenFiles::of(&folder.path("data/b.db")).unwrap();

        fs::rename(folder.path("data"), folder.path("moved")).unwrap();
        assert!(!open.are_in_place());
        fs::write(folder.path("data"), "a file").unwrap();
        assert!(!open.are_in_place());
    }

    #[test]
    fn changed_content_is_in_place() {
        let folder = Folder::new();
        let open = folder.open();

        fs::write(folder.path("a.db"), "longer than it was before").unwrap();
        fs::write(folder.path("a.db-wal"), "").unwrap();

        assert!(open.are_in_place());
    }

    #[test]
    fn missing_companions_are_left_out() {
        let folder = Folder::new();
        fs::remove_file(folder.path("a.db-wal")).unwrap();
        let open = folder.open();

        fs::write(folder.path("a.db-wal"), "new").unwrap();

        assert!(open.are_in_place());
    }
}
