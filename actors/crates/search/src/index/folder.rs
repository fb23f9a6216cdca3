//! The folder of an embedded index. An index that cannot be opened is moved aside and replaced, so that damage never prevents the
//! server from starting.

use std::error::Error;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use disk::available_bytes;
use tokio::sync::oneshot;
use tracing::{error, warn};
use values::cause::error_chain;
use values::id::DataFolderId;
use values::time::Timestamp;

use super::audit_reason::{AuditReason, compare_markers};
use super::crash_counter::CrashCounter;
use super::edge::EdgeIndex;
use super::fault::{EngineFault, classify_cause};
use super::index_error::IndexError;
use super::marker::{FilesState, MARKER_FILE, Marker};
use super::opened_index::OpenedIndex;
use super::vector_model::VectorModels;

/// Name of the index in the data folder.
const INDEX_FOLDER: &str = "index";
/// Names of indexes that were moved aside begin so; only the newest is kept.
const SET_ASIDE_PREFIX: &str = "index.damaged-";
/// Identifies the data folder in the database. A copy of the folder keeps this id: its marker is compared with the one that the
/// database has for the id, which shows whether the copy is older. The id in the lock file (`data_dir::folder_id`) identifies a
/// process instead. A copy gets a new one, because two servers with the same id would take each other's leases.
const ID_FILE: &str = "carrel.id";
/// An index counts as damaged after this many processes in a row ended while they opened it.
const MAX_CRASHES_WHILE_OPENING: u32 = 4;
/// Space that must be free before an index is created. On file systems that allocate the blocks of mapped files at the first read,
/// such as tmpfs, a new index takes up to 26 MiB, and the process is killed (SIGBUS) when they run out.
const MIN_FREE_TO_CREATE_BYTES: u64 = 32 << 20;

/// The folder of the embedded index, and what is needed to open it.
#[derive(Clone, Debug)]
pub struct IndexFolder {
    data_dir: PathBuf,
    models: VectorModels,
    id: DataFolderId,
    crash_counter: CrashCounter,
    /// [`MIN_FREE_TO_CREATE_BYTES`], or another number in a test.
    min_free_to_create: u64,
}

impl IndexFolder {
    /// Returns the index of a data folder. The folder gets an id if it has none. An id that cannot be written, as on a full disk, is used for
    /// this run only; the next start compares the index with the database.
    #[must_use]
    pub fn new(data_dir: &Path, models: VectorModels, now: Timestamp) -> Self {
        let id = Self::read_id(data_dir).unwrap_or_else(|| {
            let id = DataFolderId::new(now);
            if let Err(cause) = write_id(data_dir, id) {
                warn!(%cause, "could not store the id of data_dir");
            }
            id
        });
        Self {
            data_dir: data_dir.to_owned(),
            models,
            id,
            crash_counter: CrashCounter::new(data_dir),
            min_free_to_create: MIN_FREE_TO_CREATE_BYTES,
        }
    }

    /// Returns the id by which the database knows a data folder; `None` if it has none yet.
    #[must_use]
    pub fn read_id(data_dir: &Path) -> Option<DataFolderId> {
        fs::read_to_string(data_dir.join(ID_FILE)).ok()?.trim().parse().ok()
    }

    /// Returns whether a data folder has an id: a server was started on it before.
    #[must_use]
    pub fn has_id(data_dir: &Path) -> bool {
        data_dir.join(ID_FILE).exists()
    }

    /// Returns the folder of the index that was moved aside last, if it still exists.
    #[must_use]
    pub fn set_aside_in(data_dir: &Path) -> Option<PathBuf> {
        set_aside_folders(data_dir).into_iter().max()
    }

    /// Returns the path of the index of a data folder.
    #[must_use]
    pub fn path_in(data_dir: &Path) -> PathBuf {
        data_dir.join(INDEX_FOLDER)
    }

    /// Returns the id by which the database knows the data folder.
    #[must_use]
    pub fn id(&self) -> DataFolderId {
        self.id
    }

    /// Returns the path of the index.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Self::path_in(&self.data_dir)
    }

    /// Examines an index without opening it: returns its marker, and why it must be compared with a database that recorded the marker
    /// `recorded`. Blocks.
    #[must_use]
    pub fn examine(path: &Path, recorded: Option<&Marker>) -> (Option<Marker>, Option<AuditReason>) {
        let found = Marker::read(path);
        let reason = if !has_index(path) {
            Some(AuditReason::Missing)
        } else if Marker::is_broken(path) {
            Some(AuditReason::Damaged)
        } else {
            compare_markers(found.as_ref(), recorded).or_else(|| match found.as_ref()?.compare_files(path) {
                FilesState::Same => None,
                FilesState::Unverified => Some(AuditReason::Unverified),
                FilesState::Changed => Some(AuditReason::Damaged),
            })
        };
        (found, reason)
    }

    /// Opens the index, or creates one if there is none or the existing one is damaged. Blocks.
    ///
    /// # Errors
    /// [`IndexError::InUse`] when another process has it open; [`IndexError::NoSpace`] when its disk has no space to open it or to
    /// create a new one; [`IndexError::Environment`] when that fails for another reason that lies outside of its files;
    /// [`IndexError::SetAside`] when a damaged one cannot be moved aside. A damaged one stays where it is while the disk has no space
    /// for a new one.
    pub fn open(&self, recorded: Option<Marker>, now: Timestamp) -> Result<OpenedIndex, IndexError> {
        let path = self.path();
        create_private(&path).map_err(|cause| environment_error(&path, cause))?;
        // Before anything is changed: the marker belongs to the process that has the index open.
        if is_in_use(&path) {
            return Err(IndexError::InUse { folder: path });
        }
        let (found, mut audit_reason) = Self::examine(&path, recorded.as_ref());
        let opened = if audit_reason == Some(AuditReason::Damaged) {
            Err("its files were changed while the server was stopped".to_owned())
        } else {
            clear_files(&path, found.as_ref(), audit_reason);
            self.try_open(&path)?
        };
        let index = match opened {
            Ok(index) => index,
            Err(cause) => {
                audit_reason = Some(AuditReason::Damaged);
                self.replace_damaged(&cause, now)?
            }
        };
        Ok(OpenedIndex { index: Arc::new(index), audit_reason, found, is_reached: true })
    }

    /// Opens the index as [`Self::open`] does, on a separate thread. When the future is dropped, because the server stops, nothing waits
    /// for the thread, and the process does not count as one that crashed while it opened the index.
    ///
    /// # Errors
    /// The same as [`Self::open`]; [`IndexError::Panicked`] when the thread panicked.
    pub async fn open_on_thread(
        &self,
        recorded: Option<Marker>,
        now: Timestamp,
    ) -> Result<OpenedIndex, IndexError> {
        let mut cancel_on_drop = CancelOnDrop(Some(self.crash_counter.clone()));
        let (sender, opened) = oneshot::channel();
        let folder = self.clone();
        // Not a blocking task of the runtime: the runtime waits for those when it ends.
        let thread = thread::Builder::new().name("open-index".to_owned());
        let spawned = thread.spawn(move || sender.send(folder.open(recorded, now)).is_ok());
        spawned.map_err(|cause| environment_error(&self.path(), cause))?;
        let opened = opened.await.unwrap_or(Err(IndexError::Panicked));
        cancel_on_drop.0 = None;
        opened
    }

    /// Records that the server stops, so that an opening in progress does not count as a crash.
    pub fn cancel_opening(&self) {
        self.crash_counter.cancel_opening();
    }

    /// Moves the index aside and removes those that were moved aside before. It must not be written to any more. Blocks.
    ///
    /// # Errors
    /// [`IndexError::SetAside`]; [`IndexError::NoSpace`] when the disk has no space for another index; [`IndexError::Environment`] when
    /// it cannot be measured. Then nothing was moved or removed.
    pub fn set_aside(&self, cause: &str, now: Timestamp) -> Result<(), IndexError> {
        let (path, time) = (self.path(), now.to_string().replace(':', "-"));
        // Before the move: without space for a new index the server would be left with none.
        self.require_space_to_create(&path)?;
        // Listed before the move, so that the index that is moved aside now is not removed with the older ones.
        let before = set_aside_folders(&self.data_dir);
        let target = self.data_dir.join(format!("{SET_ASIDE_PREFIX}{time}"));
        fs::rename(&path, &target).map_err(|source| IndexError::SetAside { folder: path, source })?;
        for older in before {
            if let Err(cause) = fs::remove_dir_all(&older) {
                warn!(%cause, folder = %older.display(), "could not remove an older damaged index");
            }
        }
        error!(
            cause,
            folder = %target.display(),
            "the passage index is damaged: it was moved to another folder, and a new one is filled from the database"
        );
        Ok(())
    }

    /// Moves a damaged index aside and creates a new one.
    fn replace_damaged(&self, cause: &str, now: Timestamp) -> Result<EdgeIndex, IndexError> {
        self.set_aside(cause, now)?;
        let path = self.path();
        create_private(&path).map_err(|cause| environment_error(&path, cause))?;
        // The folder is empty, so every failure has a cause outside of it.
        let created = EdgeIndex::open(&path, self.models.clone());
        created.map_err(|error| environment_error(&path, error))
    }

    /// Opens the index, or returns why it counts as damaged. A process that is ended by opening it leaves a count behind.
    fn try_open(&self, path: &Path) -> Result<Result<EdgeIndex, String>, IndexError> {
        if !EdgeIndex::exists_in(path) {
            self.require_space_to_create(path)?;
        }
        let crashes = self.crash_counter.crashes();
        if crashes >= MAX_CRASHES_WHILE_OPENING {
            // The index that replaces it starts without crashes.
            self.crash_counter.finish_opening();
            return Ok(Err(format!("{crashes} processes in a row died when they opened it")));
        }
        self.crash_counter.begin_opening();
        // The engine panics on some damage and returns an error on other.
        let opened = catch_unwind(AssertUnwindSafe(|| EdgeIndex::open(path, self.models.clone())));
        self.crash_counter.finish_opening();
        match opened {
            Ok(Ok(index)) => Ok(Ok(index)),
            Ok(Err(error)) => {
                let cause = error_chain(&error);
                match classify_cause(&cause) {
                    EngineFault::Environment | EngineFault::NoSpace => Err(environment_error(path, error)),
                    // A disk that is nearly full fails the engine in many ways.
                    _ if !EdgeIndex::has_room(path) => {
                        Err(IndexError::NoSpace { folder: path.to_owned(), source: error.into() })
                    }
                    // A part of a file that the disk cannot read may stay unreadable, and the database holds everything.
                    EngineFault::DiskFailure | EngineFault::InvalidRequest | EngineFault::Damage => {
                        Ok(Err(cause))
                    }
                }
            }
            Err(_panic) => Ok(Err("the engine panicked when it opened it".to_owned())),
        }
    }

    /// Refuses to create an index on a disk with too little space.
    fn require_space_to_create(&self, folder: &Path) -> Result<(), IndexError> {
        let free = available_bytes(folder).map_err(|cause| environment_error(folder, cause))?;
        if free >= self.min_free_to_create {
            return Ok(());
        }
        let source =
            format!("{} MiB are free, and a new index takes {}", free >> 20, self.min_free_to_create >> 20);
        Err(IndexError::NoSpace { folder: folder.to_owned(), source: source.into() })
    }
}

/// Cancels an opening when it is dropped, unless its counter was taken out.
struct CancelOnDrop(Option<CrashCounter>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(counter) = &self.0 {
            counter.cancel_opening();
        }
    }
}

/// Writes the id of a data folder, whole or not at all.
fn write_id(data_dir: &Path, id: DataFolderId) -> io::Result<()> {
    let draft = data_dir.join(format!("{ID_FILE}.new"));
    let mut file = File::create(&draft)?;
    file.write_all(id.to_string().as_bytes())?;
    file.sync_all()?;
    // After the sync: otherwise a power loss could leave the name with an empty file.
    fs::rename(&draft, data_dir.join(ID_FILE))
}

/// Creates a folder that only its owner may enter, unless it exists. Does not create the data folder: one that was moved away could
/// not be moved back.
fn create_private(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Removes the state of the files from the marker: from now on they change, and a killed process must not leave the state of an
/// orderly stop behind. Removes the whole marker when the files are unverified, because nothing else in it says so and the
/// comparison may be interrupted.
fn clear_files(folder: &Path, found: Option<&Marker>, reason: Option<AuditReason>) {
    let Some(marker) = found.filter(|marker| marker.files.is_some()) else { return };
    let cleared = if reason == Some(AuditReason::Unverified) {
        Marker::remove(folder)
    } else {
        Marker { files: None, ..marker.clone() }.write(folder)
    };
    if let Err(cause) = cleared {
        warn!(%cause, "could not mark the passage index as open");
    }
}

/// Returns whether the folder holds more than a marker.
fn has_index(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| !entry.file_name().to_string_lossy().starts_with(MARKER_FILE))
}

/// Returns whether another process has the engine's log open, which it locks.
fn is_in_use(folder: &Path) -> bool {
    let Ok(log) = File::open(folder.join("wal")) else { return false };
    matches!(log.try_lock(), Err(TryLockError::WouldBlock))
}

fn set_aside_folders(data_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data_dir).into_iter().flatten().flatten();
    let aside = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SET_ASIDE_PREFIX));
    aside.map(|entry| entry.path()).collect()
}

/// The error of an index that cannot be opened or created for a reason that lies outside of its files.
fn environment_error(folder: &Path, cause: impl Into<Box<dyn Error + Send + Sync>>) -> IndexError {
    let (folder, source) = (folder.to_owned(), cause.into());
    if classify_cause(&error_chain(&*source)) == EngineFault::NoSpace {
        IndexError::NoSpace { folder, source }
    } else {
        IndexError::Environment { folder, source }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::index::contract::{point, tenant};
    use crate::index::marker::FileStamp;
    use crate::index::store::{IndexStore, InitialIndex};

    const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn folder(home: &Path) -> IndexFolder {
        IndexFolder::new(home, VectorModels::default(), NOW)
    }

    /// A closed index with one passage and a marker.
    fn closed_index(home: &Path) -> (IndexFolder, Marker) {
        let folder = folder(home);
        let opened = folder.open(None, NOW).unwrap();
        opened.index.upsert(&tenant(), vec![point(1)]).unwrap();
        opened.index.commit().unwrap();
        let marker = Marker::first(NOW);
        marker.write(&folder.path()).unwrap();
        (folder, marker)
    }

    /// Writes the marker that an orderly stop leaves.
    fn write_files(folder: &IndexFolder, marker: &Marker) {
        let files = FileStamp::all(&folder.path(), Duration::from_secs(60)).unwrap();
        Marker { files: Some(files), ..marker.clone() }.write(&folder.path()).unwrap();
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn unverified_files_need_an_audit_until_it_is_done() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = closed_index(home.path());
        let stamps = FileStamp::all(&folder.path(), Duration::ZERO).unwrap();
        Marker { files: Some(stamps), ..marker.clone() }.write(&folder.path()).unwrap();
        for path in files(&folder.path()) {
            File::options().write(true).open(path).unwrap().set_modified(UNIX_EPOCH).unwrap();
        }

        let first = folder.open(Some(marker.clone()), NOW).unwrap().audit_reason;
        let second = folder.open(Some(marker), NOW).unwrap().audit_reason;

        assert_eq!((first, second), (Some(AuditReason::Unverified), Some(AuditReason::NoMarker)));
    }

    #[test]
    fn data_folder_keeps_its_id() {
        let home = tempfile::tempdir().unwrap();

        assert_eq!(IndexFolder::read_id(home.path()), None);
        let id = folder(home.path()).id();

        assert_eq!(folder(home.path()).id(), id);
        assert_eq!(IndexFolder::read_id(home.path()), Some(id));
    }

    #[test]
    fn undamaged_index_needs_no_audit() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = closed_index(home.path());

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!(opened.audit_reason, None);
        assert_eq!(opened.index.count().unwrap(), 1);
        assert_eq!(folder.crash_counter.crashes(), 0);
    }

    #[test]
    fn files_of_an_orderly_stop_are_cleared_at_the_next_start() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = closed_index(home.path());
        write_files(&folder, &marker);

        let opened = folder.open(Some(marker.clone()), NOW).unwrap();

        assert_eq!(opened.audit_reason, None);
        assert_eq!(Marker::read(&folder.path()), Some(marker));
    }

    #[test]
    fn index_whose_files_have_new_times_needs_no_audit() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = closed_index(home.path());
        write_files(&folder, &marker);
        for file in files(&folder.path()) {
            let at = UNIX_EPOCH + Duration::from_secs(7);
            File::options().append(true).open(file).unwrap().set_modified(at).unwrap();
        }

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!((opened.audit_reason, opened.index.count().unwrap()), (None, 1));
        assert_eq!(IndexFolder::set_aside_in(home.path()), None);
    }

    #[test]
    fn missing_index_is_created() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = closed_index(home.path());
        fs::remove_dir_all(folder.path()).unwrap();

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!(opened.audit_reason, Some(AuditReason::Missing));
        assert_eq!(opened.index.count().unwrap(), 0);
        assert_eq!(IndexFolder::set_aside_in(home.path()), None);
    }

    #[test]
    fn older_damaged_index_is_removed_once_a_newer_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = closed_index(home.path());
        for later in [0, 1] {
            fs::write(folder.path().join("edge_config.json"), b"garbage").unwrap();
            let now = NOW + Duration::from_secs(later);

            let opened = folder.open(Some(marker.clone()), now).unwrap();

            assert_eq!((opened.audit_reason, opened.index.count().unwrap()), (Some(AuditReason::Damaged), 0));
            marker.write(&folder.path()).unwrap();
            drop(opened);
        }

        let aside = set_aside_folders(home.path());
        assert_eq!(aside.len(), 1);
        assert!(aside[0].ends_with("index.damaged-2024-05-06T12-00-01.000Z"));
        assert_eq!(IndexFolder::set_aside_in(home.path()).as_ref(), aside.first());
    }

    #[test]
    fn garbage_in_every_file_does_not_prevent_a_start() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = closed_index(home.path());
        for file in files(&folder.path()) {
            let length = fs::metadata(&file).unwrap().len() as usize;
            fs::write(&file, vec![0xa5; length]).unwrap();
        }

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!(opened.audit_reason, Some(AuditReason::Damaged));
    }

    #[test]
    fn failed_move_aside_keeps_the_index_moved_before() {
        let home = tempfile::tempdir().unwrap();
        let before = home.path().join("index.damaged-2024-05-05T12-00-00.000Z");
        fs::create_dir(&before).unwrap();

        // There is no index, so its disk cannot be measured either.
        let refused = folder(home.path()).set_aside("a test", NOW);

        assert!(matches!(refused, Err(IndexError::Environment { .. })));
        assert_eq!(set_aside_folders(home.path()), [before]);
    }

    fn is_without_space(opened: Result<OpenedIndex, IndexError>) -> bool {
        matches!(opened, Err(IndexError::NoSpace { .. }))
    }

    #[test]
    fn missing_index_waits_for_space_for_a_new_one() {
        let home = tempfile::tempdir().unwrap();
        let full = IndexFolder { min_free_to_create: u64::MAX, ..folder(home.path()) };

        assert!(is_without_space(full.open(None, NOW)));

        assert_eq!(folder(home.path()).open(None, NOW).unwrap().index.count().unwrap(), 0);
    }

    #[test]
    fn damaged_index_stays_in_place_without_space_for_a_new_one() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = closed_index(home.path());
        fs::write(folder.path().join("edge_config.json"), b"garbage").unwrap();
        let full = IndexFolder { min_free_to_create: u64::MAX, ..folder.clone() };

        assert!(is_without_space(full.open(Some(marker.clone()), NOW)));
        assert_eq!(IndexFolder::set_aside_in(home.path()), None);

        let opened = folder.open(Some(marker), NOW).unwrap();
        assert_eq!(opened.audit_reason, Some(AuditReason::Damaged));
    }

    #[tokio::test]
    async fn disk_without_space_for_an_index_does_not_prevent_a_start() {
        let home = tempfile::tempdir().unwrap();
        let full = IndexFolder { min_free_to_create: u64::MAX, ..folder(home.path()) };
        let recorded = Some(Marker::first(NOW));

        let initial = InitialIndex::open(IndexStore::Folder(full), recorded.clone(), NOW).await.unwrap();

        assert!(initial.opened.is_none());
        assert_eq!(initial.recorded, recorded);
    }

    #[test]
    fn index_in_use_is_not_opened() {
        let home = tempfile::tempdir().unwrap();
        let (folder, _) = closed_index(home.path());
        let _open = folder.open(None, NOW).unwrap();

        assert!(matches!(folder.open(None, NOW), Err(IndexError::InUse { .. })));
        assert_eq!(IndexFolder::set_aside_in(home.path()), None);
    }

    #[test]
    fn index_that_crashes_processes_is_moved_aside() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = closed_index(home.path());
        (0..MAX_CRASHES_WHILE_OPENING).for_each(|_| folder.crash_counter.begin_opening());

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!(opened.audit_reason, Some(AuditReason::Damaged));
        assert_eq!(folder.crash_counter.crashes(), 0);
    }
}
