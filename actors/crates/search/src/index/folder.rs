//! The folder of an embedded index: opened, and where it cannot be opened moved aside, so that damage never stops the
//! service.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use disk::available_bytes;
use entity::id::DataFolderId;
use entity::time::Timestamp;
use tokio::sync::oneshot;
use tracing::{error, warn};

use super::audit_reason::{Doubt, judge};
use super::crash_counter::OpeningCount;
use super::edge::{EdgeIndex, VectorModel};
use super::fault::is_environmental;
use super::marker::{FilesState, MARKER_FILE, Marker};
use super::{IndexError, PassageIndex};

/// The index within the data folder.
const INDEX_FOLDER: &str = "index";
/// Indexes that were moved aside; only the newest is kept.
const SET_ASIDE_PREFIX: &str = "index.damaged-";
/// Identifies the data folder in the database. A copy of the folder keeps this id: its marker is compared with the one that the
/// database has for the id, which shows whether the copy is older. The id in the lock file (`data_dir::folder_id`) identifies a
/// process instead. A copy gets a new one, because two services with the same id would take each other's leases.
const ID_FILE: &str = "carrel.id";
/// An index is taken for damaged after this many processes in a row ended while they opened it.
const MAX_DEATHS_WHILE_OPENING: u32 = 4;
/// Space that must be free before a new index is made. On file systems that give mapped files their blocks when they are read,
/// such as tmpfs, it takes 30 MiB, and the process ends (SIGBUS) where they run out.
const MIN_FREE_TO_MAKE_BYTES: u64 = 32 << 20;

/// Where the embedded index is, and what it is opened with.
#[derive(Clone, Debug)]
pub struct IndexFolder {
    data_dir: PathBuf,
    model: Option<VectorModel>,
    id: DataFolderId,
    openings: OpeningCount,
}

/// An index that was opened, and what is known of it.
pub struct OpenedIndex {
    /// Where it is.
    pub folder: IndexFolder,
    /// The index.
    pub index: Arc<dyn PassageIndex>,
    /// Why it is to be compared with the database; none where it is the one that the service left.
    pub doubt: Option<Doubt>,
    /// The marker that was found in it.
    pub found: Option<Marker>,
    /// The marker that the database keeps of it.
    pub recorded: Option<Marker>,
}

impl IndexFolder {
    /// The index of a data folder, which gets an id where it has none. An id that cannot be kept, as on a full disk, is good
    /// for this run; the next start compares the index with the database.
    #[must_use]
    pub fn new(data_dir: &Path, model: Option<VectorModel>, now: Timestamp) -> Self {
        let id = Self::read_id(data_dir).unwrap_or_else(|| {
            let id = DataFolderId::new(now);
            if let Err(cause) = write_whole(data_dir, &id.to_string()) {
                warn!(%cause, "could not keep the id of data_dir");
            }
            id
        });
        Self { data_dir: data_dir.to_owned(), model, id, openings: OpeningCount::new(data_dir) }
    }

    /// By which the database knows a data folder; none where it has no id yet.
    #[must_use]
    pub fn read_id(data_dir: &Path) -> Option<DataFolderId> {
        fs::read_to_string(data_dir.join(ID_FILE)).ok()?.trim().parse().ok()
    }

    /// Whether a data folder has the file with its id: a service was started on it.
    #[must_use]
    pub fn has_id(data_dir: &Path) -> bool {
        data_dir.join(ID_FILE).exists()
    }

    /// The index that was moved aside last and is still there.
    #[must_use]
    pub fn set_aside_in(data_dir: &Path) -> Option<PathBuf> {
        set_aside_folders(data_dir).into_iter().max()
    }

    /// Where the index of a data folder is.
    #[must_use]
    pub fn path_in(data_dir: &Path) -> PathBuf {
        data_dir.join(INDEX_FOLDER)
    }

    /// By which the database knows the data folder.
    #[must_use]
    pub fn id(&self) -> DataFolderId {
        self.id
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        Self::path_in(&self.data_dir)
    }

    /// Looks at an index that is not open: its marker, and what is doubtful about it where the database keeps the marker
    /// `recorded`. Blocks.
    #[must_use]
    pub fn examine(path: &Path, recorded: Option<&Marker>) -> (Option<Marker>, Option<Doubt>) {
        let found = Marker::read(path);
        let doubt = if !has_index(path) {
            Some(Doubt::Missing)
        } else if Marker::is_broken(path) {
            Some(Doubt::Damaged)
        } else {
            judge(found.as_ref(), recorded).or_else(|| match found.as_ref()?.compare_files(path) {
                FilesState::Same => None,
                FilesState::Unverified => Some(Doubt::Unverified),
                FilesState::Changed => Some(Doubt::Damaged),
            })
        };
        (found, doubt)
    }

    /// Opens the index, or makes a new one where there is none or the one that is there is damaged. Blocks.
    ///
    /// # Errors
    /// [`IndexError::InUse`] when another process has it open; [`IndexError::Environment`] when it cannot be opened, or a new one
    /// cannot be made, for a reason that lies outside of its files; [`IndexError::SetAside`] when a damaged one cannot be moved
    /// aside. A damaged one stays where it is while the disk has no room for a new one.
    pub fn open(&self, recorded: Option<Marker>, now: Timestamp) -> Result<OpenedIndex, IndexError> {
        let path = self.path();
        make_private(&path).map_err(|cause| environment_error(&path, cause))?;
        if is_in_use(&path) {
            return Err(IndexError::InUse { folder: path });
        }
        let (found, mut doubt) = Self::examine(&path, recorded.as_ref());
        let opened = if doubt == Some(Doubt::Damaged) {
            Err("its files were changed while the service was stopped".to_owned())
        } else {
            forget_files(&path, found.as_ref(), doubt);
            self.try_open(&path)?
        };
        let index = match opened {
            Ok(index) => index,
            Err(cause) => {
                doubt = Some(Doubt::Damaged);
                self.replace_damaged(&cause, now)?
            }
        };
        Ok(OpenedIndex { folder: self.clone(), index: Arc::new(index), doubt, found, recorded })
    }

    /// Opens the index as [`Self::open`] does, on a separate thread. When the future is dropped, because the service was told to
    /// stop, the thread is not waited for, and the process does not count as one that died while it opened the index.
    ///
    /// # Errors
    /// As [`Self::open`], and [`IndexError::Panicked`].
    pub async fn open_on_thread(
        &self,
        recorded: Option<Marker>,
        now: Timestamp,
    ) -> Result<OpenedIndex, IndexError> {
        let mut cancels_count = CancelsCount(Some(self.openings.clone()));
        let (sender, opened) = oneshot::channel();
        let folder = self.clone();
        // Not a blocking task of the runtime: the runtime waits for those when it ends.
        let thread = thread::Builder::new().name("open-index".to_owned());
        let begun = thread.spawn(move || sender.send(folder.open(recorded, now)).is_ok());
        begun.map_err(|cause| environment_error(&self.path(), cause))?;
        let opened = opened.await.unwrap_or(Err(IndexError::Panicked));
        cancels_count.0 = None;
        opened
    }

    /// The service ends: an opening that is under way does not count as one that ended the process.
    pub fn cancel_opening(&self) {
        self.openings.cancel();
    }

    /// Moves the index aside, in the place of one that was moved aside before. It must not be written to any more. Blocks.
    ///
    /// # Errors
    /// [`IndexError::SetAside`]; [`IndexError::Environment`] when the disk has no room for another index. Then nothing was moved or
    /// removed.
    pub fn set_aside(&self, cause: &str, now: Timestamp) -> Result<(), IndexError> {
        let (path, time) = (self.path(), now.to_string().replace(':', "-"));
        require_room_to_make(&path)?;
        let before = set_aside_folders(&self.data_dir);
        let target = self.data_dir.join(format!("{SET_ASIDE_PREFIX}{time}"));
        fs::rename(&path, &target).map_err(|source| IndexError::SetAside { folder: path, source })?;
        for older in before {
            if let Err(cause) = fs::remove_dir_all(&older) {
                warn!(%cause, folder = %older.display(), "could not remove an index that was moved aside before");
            }
        }
        error!(
            cause,
            folder = %target.display(),
            "the passage index is damaged: it was moved aside, and a new one is filled from the database"
        );
        Ok(())
    }

    /// Moves a damaged index aside and makes a new one.
    fn replace_damaged(&self, cause: &str, now: Timestamp) -> Result<EdgeIndex, IndexError> {
        self.set_aside(cause, now)?;
        let path = self.path();
        make_private(&path).map_err(|cause| environment_error(&path, cause))?;
        // The folder is empty, so that whatever fails lies outside of it.
        let made = EdgeIndex::open(&path, self.model.clone());
        made.map_err(|error| IndexError::Environment { folder: path, source: error.into() })
    }

    /// The index, or why it is taken for damaged. A process that dies of opening it leaves a count behind.
    fn try_open(&self, path: &Path) -> Result<Result<EdgeIndex, String>, IndexError> {
        if !EdgeIndex::exists_in(path) {
            require_room_to_make(path)?;
        }
        let deaths = self.openings.deaths();
        if deaths >= MAX_DEATHS_WHILE_OPENING {
            self.openings.end();
            return Ok(Err(format!("{deaths} processes in a row died when they opened it")));
        }
        self.openings.begin();
        // The engine panics on some damage and returns an error on other.
        let opened = catch_unwind(AssertUnwindSafe(|| EdgeIndex::open(path, self.model.clone())));
        self.openings.end();
        match opened {
            Ok(Ok(index)) => Ok(Ok(index)),
            Ok(Err(error)) => {
                let cause = chain(&error);
                if is_environmental(&cause) || !EdgeIndex::has_room(path) {
                    Err(IndexError::Environment { folder: path.to_owned(), source: error.into() })
                } else {
                    Ok(Err(cause))
                }
            }
            Err(_panic) => Ok(Err("the engine panicked when it opened it".to_owned())),
        }
    }
}

/// Takes the count of an opening back when it is dropped with it.
struct CancelsCount(Option<OpeningCount>);

impl Drop for CancelsCount {
    fn drop(&mut self) {
        if let Some(openings) = &self.0 {
            openings.cancel();
        }
    }
}

/// Writes the id, whole or not at all.
fn write_whole(data_dir: &Path, id: &str) -> io::Result<()> {
    let draft = data_dir.join(format!("{ID_FILE}.new"));
    let mut file = File::create(&draft)?;
    file.write_all(id.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, data_dir.join(ID_FILE))
}

/// Refuses to make a new index where its disk has too little room.
fn require_room_to_make(folder: &Path) -> Result<(), IndexError> {
    let free = available_bytes(folder).map_err(|cause| environment_error(folder, cause))?;
    if free >= MIN_FREE_TO_MAKE_BYTES {
        return Ok(());
    }
    let source =
        format!("{} MiB are free, and a new index takes {}", free >> 20, MIN_FREE_TO_MAKE_BYTES >> 20);
    Err(IndexError::Environment { folder: folder.to_owned(), source: source.into() })
}

/// Creates a folder for its owner alone, unless it exists. Its data folder is not created: one that was moved away could not be moved
/// back.
fn make_private(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().mode(0o700).create(folder)
}

/// Takes what an orderly stop wrote of the files out of the marker: from now on they change, and a process that is killed
/// must not leave it behind. The marker goes with it where the files are unverified: no other part of it says so, and the comparison
/// may be interrupted.
fn forget_files(folder: &Path, found: Option<&Marker>, doubt: Option<Doubt>) {
    let Some(marker) = found.filter(|marker| marker.files.is_some()) else { return };
    let forgotten = if doubt == Some(Doubt::Unverified) {
        fs::remove_file(folder.join(MARKER_FILE))
    } else {
        Marker { files: None, ..marker.clone() }.write(folder)
    };
    if let Err(cause) = forgotten {
        warn!(%cause, "could not mark the passage index as open");
    }
}

/// Whether the folder holds more than a marker.
fn has_index(folder: &Path) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| !entry.file_name().to_string_lossy().starts_with(MARKER_FILE))
}

/// Whether another process holds the engine's log, which it locks.
fn is_in_use(folder: &Path) -> bool {
    let Ok(log) = File::open(folder.join("wal")) else { return false };
    matches!(log.try_lock(), Err(TryLockError::WouldBlock))
}

fn set_aside_folders(data_dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data_dir).into_iter().flatten().flatten();
    let aside = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SET_ASIDE_PREFIX));
    aside.map(|entry| entry.path()).collect()
}

fn environment_error(folder: &Path, cause: io::Error) -> IndexError {
    IndexError::Environment { folder: folder.to_owned(), source: cause.into() }
}

/// An error with its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        told = format!("{told}: {inner}");
        cause = inner.source();
    }
    told
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::index::contract::{point, tenant};
    use crate::index::marker::FileStamp;

    const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    fn folder(home: &Path) -> IndexFolder {
        IndexFolder::new(home, None, NOW)
    }

    /// An index with one passage and its marker, closed.
    fn left(home: &Path) -> (IndexFolder, Marker) {
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
    fn unverified_files_are_doubted_until_they_were_compared() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = left(home.path());
        let stamps = FileStamp::all(&folder.path(), Duration::ZERO).unwrap();
        Marker { files: Some(stamps), ..marker.clone() }.write(&folder.path()).unwrap();
        for path in files(&folder.path()) {
            File::options().write(true).open(path).unwrap().set_modified(UNIX_EPOCH).unwrap();
        }

        let first = folder.open(Some(marker.clone()), NOW).unwrap().doubt;
        let second = folder.open(Some(marker), NOW).unwrap().doubt;

        assert_eq!((first, second), (Some(Doubt::Unverified), Some(Doubt::Unmarked)));
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
    fn whole_index_opens_without_a_doubt() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = left(home.path());

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!(opened.doubt, None);
        assert_eq!(opened.index.count().unwrap(), 1);
        assert_eq!(folder.openings.deaths(), 0);
    }

    #[test]
    fn files_of_an_orderly_stop_are_forgotten_at_the_next_start() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = left(home.path());
        write_files(&folder, &marker);

        let opened = folder.open(Some(marker.clone()), NOW).unwrap();

        assert_eq!(opened.doubt, None);
        assert_eq!(Marker::read(&folder.path()), Some(marker));
    }

    #[test]
    fn index_whose_times_moved_opens_without_a_doubt() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = left(home.path());
        write_files(&folder, &marker);
        for file in files(&folder.path()) {
            let at = UNIX_EPOCH + Duration::from_secs(7);
            File::options().append(true).open(file).unwrap().set_modified(at).unwrap();
        }

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!((opened.doubt, opened.index.count().unwrap()), (None, 1));
        assert_eq!(IndexFolder::set_aside_in(home.path()), None);
    }

    #[test]
    fn missing_index_is_made_anew() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = left(home.path());
        fs::remove_dir_all(folder.path()).unwrap();

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!(opened.doubt, Some(Doubt::Missing));
        assert_eq!(opened.index.count().unwrap(), 0);
        assert_eq!(IndexFolder::set_aside_in(home.path()), None);
    }

    #[test]
    fn damaged_index_is_moved_aside_and_only_the_newest_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = left(home.path());
        for later in [0, 1] {
            fs::write(folder.path().join("edge_config.json"), b"garbage").unwrap();
            let now = NOW + Duration::from_secs(later);

            let opened = folder.open(Some(marker.clone()), now).unwrap();

            assert_eq!((opened.doubt, opened.index.count().unwrap()), (Some(Doubt::Damaged), 0));
            marker.write(&folder.path()).unwrap();
            drop(opened);
        }

        let aside = set_aside_folders(home.path());
        assert_eq!(aside.len(), 1);
        assert!(aside[0].ends_with("index.damaged-2024-05-06T12-00-01.000Z"));
        assert_eq!(IndexFolder::set_aside_in(home.path()).as_ref(), aside.first());
    }

    #[test]
    fn garbage_in_every_file_never_stops_the_start() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = left(home.path());
        for file in files(&folder.path()) {
            let length = fs::metadata(&file).unwrap().len() as usize;
            fs::write(&file, vec![0xa5; length]).unwrap();
        }

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!(opened.doubt, Some(Doubt::Damaged));
    }

    #[test]
    fn index_that_cannot_be_moved_aside_keeps_the_one_before() {
        let home = tempfile::tempdir().unwrap();
        let before = home.path().join("index.damaged-2024-05-05T12-00-00.000Z");
        fs::create_dir(&before).unwrap();

        // There is no index, so its disk cannot be measured either.
        let refused = folder(home.path()).set_aside("a test", NOW);

        assert!(matches!(refused, Err(IndexError::Environment { .. })));
        assert_eq!(set_aside_folders(home.path()), [before]);
    }

    #[test]
    fn index_in_use_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let (folder, _) = left(home.path());
        let _open = folder.open(None, NOW).unwrap();

        assert!(matches!(folder.open(None, NOW), Err(IndexError::InUse { .. })));
        assert_eq!(IndexFolder::set_aside_in(home.path()), None);
    }

    #[test]
    fn index_that_processes_die_of_is_moved_aside() {
        let home = tempfile::tempdir().unwrap();
        let (folder, marker) = left(home.path());
        (0..MAX_DEATHS_WHILE_OPENING).for_each(|_| folder.openings.begin());

        let opened = folder.open(Some(marker), NOW).unwrap();

        assert_eq!(opened.doubt, Some(Doubt::Damaged));
        assert_eq!(folder.openings.deaths(), 0);
    }
}
