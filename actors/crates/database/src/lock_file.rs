//! A lock for one process at a time, as a file next to an SQLite database.
//!
//! The lock (`flock`) ends with the process that has it, also by SIGKILL. The file is empty, and stays. The database itself is not
//! locked: when a process closes any descriptor of a file, the system releases all locks of `fcntl` that the process has on it, and
//! SQLite uses those.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use disk::FileIdentity;
use rustix::process::geteuid;
use tracing::warn;

use super::file_names::with_suffix;

/// The state of the lock.
enum LockState {
    /// Unknown: the file could not be opened or locked yet.
    Unknown,
    /// Another process has the lock.
    Elsewhere,
    /// This process has the lock, as long as the file is open.
    Held(File),
}

/// The lock and its file.
pub(super) struct LockFile {
    path: PathBuf,
    database: PathBuf,
    state: LockState,
    /// Whether the last attempt failed, which was logged.
    is_failing: bool,
}

impl LockFile {
    /// Returns the file whose name is that of the database with this suffix. Nothing is opened yet.
    pub(super) fn for_database(database: &Path, suffix: &str) -> Self {
        Self {
            path: with_suffix(database, suffix),
            database: database.to_owned(),
            state: LockState::Unknown,
            is_failing: false,
        }
    }

    /// Acquires the lock, or verifies that this process still has it. Returns whether it has it. Blocks.
    ///
    /// After a failure the previous result is returned, initially `true`: a single server works as usual on a disk on which no file can be
    /// created.
    pub(super) fn hold(&mut self) -> bool {
        match self.try_hold() {
            Ok(()) => self.is_failing = false,
            Err(cause) => self.report_failure(&cause),
        }
        !matches!(self.state, LockState::Elsewhere)
    }

    fn try_hold(&mut self) -> io::Result<()> {
        if let LockState::Held(file) = &self.state {
            if is_at(file, &self.path)? {
                return Ok(());
            }
            // Closed before the path is opened again: if both are the same file, this process would exclude itself.
            self.state = LockState::Unknown;
        }
        let file = self.open()?;
        self.state = match file.try_lock() {
            Ok(()) => LockState::Held(file),
            Err(TryLockError::WouldBlock) => LockState::Elsewhere,
            Err(TryLockError::Error(cause)) => return Err(cause),
        };
        Ok(())
    }

    /// Opens or creates the file. A lock needs no write permission, so on a full or read-only disk a file that exists is enough.
    fn open(&self) -> io::Result<File> {
        match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match self.create() {
            // Another process created it first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::open(&self.path),
            created => created,
        }
    }

    /// Creates the file with access for the accounts that may write the database. An account that may only read it cannot lock the servers
    /// out.
    fn create(&self) -> io::Result<File> {
        let database = fs::metadata(&self.database)?;
        let writers = database.mode() & 0o222;
        // A lock needs the right to read (`0o4`), which is one bit left of the right to write (`0o2`).
        let rights = 0o600 | writers | (writers << 1);
        let file = File::options().read(true).write(true).create_new(true).mode(rights).open(&self.path)?;
        if let Err(cause) = give_to(&file, rights, &database) {
            warn!(%cause, file = %self.path.display(), "could not give a lock file the permissions of the database");
        }
        Ok(file)
    }

    fn report_failure(&mut self, cause: &io::Error) {
        if !self.is_failing {
            warn!(
                %cause,
                file = %self.path.display(),
                "could not lock the file that lets one server on the database do the shared work; make it accessible, or run \
                 only one server"
            );
        }
        self.is_failing = true;
    }
}

/// Returns whether this is the file at the path. A removed or replaced file excludes no other process.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok(FileIdentity::from(&found) == FileIdentity::from(&open)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Sets the owner and the permissions, which the umask may have restricted; a file created by root would be inaccessible to the server.
fn give_to(file: &File, rights: u32, database: &fs::Metadata) -> io::Result<()> {
    if geteuid().is_root() {
        fchown(file, Some(database.uid()), Some(database.gid()))?;
    }
    file.set_permissions(Permissions::from_mode(rights))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with the file of a database.
    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            File::create(folder.path().join("a.db")).unwrap();
            Self(folder)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// Returns the lock as another process has it: a file that is opened twice is locked against itself.
        fn lock(&self) -> LockFile {
            LockFile::for_database(&self.path("a.db"), ".lock")
        }

        /// Makes a file that can neither be opened nor made.
        fn break_lock_file(&self) {
            symlink(self.path("none/none"), self.path("a.db.lock")).unwrap();
        }
    }

    #[test]
    fn lock_is_held_by_one_until_it_ends() {
        let folder = Folder::new();
        let (mut one, mut other) = (folder.lock(), folder.lock());

        assert!(one.hold() && one.hold());
        assert!(!other.hold() && !other.hold());
        drop(one);
        assert!(other.hold());
    }

    #[test]
    fn lock_of_a_removed_file_is_acquired_again() {
        let folder = Folder::new();
        let (mut one, mut other) = (folder.lock(), folder.lock());
        assert!(one.hold());

        fs::remove_file(folder.path("a.db.lock")).unwrap();

        assert!(one.hold() && !other.hold());
        fs::remove_file(folder.path("a.db.lock")).unwrap();
        assert!(other.hold() && !one.hold());
    }

    #[test]
    fn lock_file_that_cannot_be_created_counts_as_held() {
        let folder = Folder::new();
        let (mut one, mut other) = (folder.lock(), folder.lock());
        folder.break_lock_file();

        assert!(one.hold() && other.hold());
        fs::remove_file(folder.path("a.db.lock")).unwrap();
        assert!(other.hold() && !one.hold());
    }

    #[test]
    fn previous_answer_holds_after_a_failure() {
        let folder = Folder::new();
        let (mut one, mut other) = (folder.lock(), folder.lock());
        assert!(one.hold() && !other.hold());

        fs::remove_file(folder.path("a.db.lock")).unwrap();
        folder.break_lock_file();

        assert!(one.hold() && !other.hold());
    }

    #[test]
    fn existing_lock_file_needs_no_right_to_write() {
        let folder = Folder::new();
        File::create(folder.path("a.db.lock")).unwrap();
        fs::set_permissions(folder.path("a.db.lock"), Permissions::from_mode(0o400)).unwrap();
        let (mut one, mut other) = (folder.lock(), folder.lock());

        assert!(one.hold() && !other.hold());
    }

    #[test]
    fn accounts_that_can_write_the_database_can_lock_it() {
        for (database, expected) in [(0o600, 0o600), (0o644, 0o600), (0o664, 0o660), (0o444, 0o600)] {
            let folder = Folder::new();
            fs::set_permissions(folder.path("a.db"), Permissions::from_mode(database)).unwrap();

            assert!(folder.lock().hold());

            let made = fs::metadata(folder.path("a.db.lock")).unwrap();
            assert_eq!(made.mode() & 0o777, expected, "{database:o}");
        }
    }
}
