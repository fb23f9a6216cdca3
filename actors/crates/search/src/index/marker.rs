//! The marker of an index: a small file in its folder, and a row of the database that says the same. From both
//! the service tells at its start, without counting, whether the folder is still the one that it left.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use entity::id::IndexId;
use entity::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The name of the file.
pub const MARKER_FILE: &str = "carrel.json";
/// The marker is written here first, so that a full disk leaves the old one.
const MARKER_DRAFT: &str = "carrel.json.new";
/// The log of the engine: its files change when they are opened, so nothing is told by them.
const LOG_FOLDER: &str = "wal";

/// How long the files of an index are read for their checksums when it is opened. What is left then is not verified.
const MAX_VERIFICATION: Duration = Duration::from_secs(10);
/// Size of the reads by which checksums are computed.
const PIECE_BYTES: usize = 1 << 20;

/// What identifies an index, and how new it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Which making of the index this is.
    pub generation: IndexId,
    /// Raised at each start and, while passages change, every minute. A copy of the folder that is put back has a lower
    /// one than the database.
    pub sequence: u64,
    /// The folder holds everything that the index was told before this moment.
    pub as_of: Timestamp,
    /// How an orderly stop left the files; none while the index is open, and in the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileStamp>>,
}

/// A file of the index as an orderly stop left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Its path within the folder.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// When it was last written, in seconds and nanoseconds of the Unix epoch. A network file system may move it by itself, and
    /// a copy has its own.
    pub modified: (i64, i64),
    /// CRC-32 of its content; none where there was no time to read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<u32>,
}

/// How the files of an index compare with what an orderly stop left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesState {
    /// They are the same, or the stop was not orderly and nothing is known of them.
    Same,
    /// Some have another time of change, and whether their content is the same is not known.
    Unverified,
    /// Some are missing, or have another length or another content.
    Changed,
}

impl Marker {
    /// The first marker of a new generation.
    pub fn first(now: Timestamp) -> Self {
        Self { generation: IndexId::new(now), sequence: 1, as_of: now, files: None }
    }

    /// The marker after this one.
    #[must_use]
    pub fn next(&self, now: Timestamp) -> Self {
        Self { generation: self.generation, sequence: self.sequence + 1, as_of: now, files: None }
    }

    /// Reads the marker of an index; none where there is none that can be read.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(MARKER_FILE)).ok()?).ok()
    }

    /// Whether an index has a marker that cannot be read: a marker is written whole or not at all, so it was damaged.
    #[must_use]
    pub fn is_broken(folder: &Path) -> bool {
        fs::read(folder.join(MARKER_FILE)).is_ok_and(|bytes| serde_json::from_slice::<Self>(&bytes).is_err())
    }

    /// Reads what [`Marker::to_row`] wrote; none for anything else.
    #[must_use]
    pub fn from_row(row: &str) -> Option<Self> {
        serde_json::from_str(row).ok()
    }

    /// The marker as the database keeps it: without the files.
    ///
    /// # Errors
    /// It cannot be written as JSON, which does not happen.
    pub fn to_row(&self) -> io::Result<String> {
        Ok(serde_json::to_string(&Self { files: None, ..self.clone() })?)
    }

    /// Writes the marker into the folder of an index, whole or not at all. Blocks.
    ///
    /// # Errors
    /// The folder is not there, cannot be written to, or its disk is full.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let (draft, target) = (folder.join(MARKER_DRAFT), folder.join(MARKER_FILE));
        let mut file = File::create(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&draft, &target)?;
        File::open(folder)?.sync_all()
    }

    /// Compares the files with what the orderly stop left that wrote this marker. A file whose time of change is another one is
    /// read, for times change without the content. Blocks.
    #[must_use]
    pub fn compare_files(&self, folder: &Path) -> FilesState {
        let until = Instant::now() + MAX_VERIFICATION;
        let mut state = FilesState::Same;
        for left in self.files.iter().flatten() {
            match left.compare(folder, until) {
                FilesState::Same => {}
                FilesState::Unverified => state = FilesState::Unverified,
                FilesState::Changed => return FilesState::Changed,
            }
        }
        state
    }
}

impl FileStamp {
    /// Every file of an index that an orderly stop leaves as it will be found, smallest first. No checksum is begun or finished
    /// after `checksum_time`. Blocks.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all(folder: &Path, checksum_time: Duration) -> io::Result<Vec<Self>> {
        let until = Instant::now() + checksum_time;
        let mut found = Vec::new();
        collect(folder, Path::new(""), &mut found)?;
        found.sort_by_key(|stamp| stamp.bytes);
        for stamp in &mut found {
            stamp.checksum = checksum(&folder.join(&stamp.path), until)?;
        }
        Ok(found)
    }

    /// None for what is no file.
    fn of(folder: &Path, path: &str) -> Option<Self> {
        let found = fs::symlink_metadata(folder.join(path)).ok().filter(fs::Metadata::is_file)?;
        let modified = (found.mtime(), found.mtime_nsec());
        Some(Self { path: path.to_owned(), bytes: found.len(), modified, checksum: None })
    }

    /// Compares the file with what was left of it.
    fn compare(&self, folder: &Path, until: Instant) -> FilesState {
        let Some(found) = Self::of(folder, &self.path).filter(|found| found.bytes == self.bytes) else {
            return FilesState::Changed;
        };
        if found.modified == self.modified {
            return FilesState::Same;
        }
        let Some(left) = self.checksum else { return FilesState::Unverified };
        match checksum(&folder.join(&self.path), until) {
            Ok(Some(found)) if found == left => FilesState::Same,
            Ok(Some(_)) => FilesState::Changed,
            Ok(None) | Err(_) => FilesState::Unverified,
        }
    }
}

/// CRC-32 of a file; none where it could not be read to its end in time.
fn checksum(file: &Path, until: Instant) -> io::Result<Option<u32>> {
    let mut file = File::open(file)?;
    let (mut hasher, mut buffer) = (crc32fast::Hasher::new(), vec![0; PIECE_BYTES]);
    while Instant::now() < until {
        let read = file.read(&mut buffer)?;
        match buffer.get(..read) {
            Some(piece) if !piece.is_empty() => hasher.update(piece),
            Some(_) | None => return Ok(Some(hasher.finalize())),
        }
    }
    Ok(None)
}

fn collect(folder: &Path, within: &Path, found: &mut Vec<FileStamp>) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(within))? {
        let entry = entry?;
        let path = within.join(entry.file_name());
        let text = path.to_string_lossy().into_owned();
        if [MARKER_FILE, MARKER_DRAFT, LOG_FOLDER].contains(&text.as_str()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(folder, &path, found)?;
        } else {
            found.extend(FileStamp::of(folder, &text));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    /// A folder with three files and the marker that an orderly stop leaves.
    fn left() -> (tempfile::TempDir, Marker) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("segments/one")).unwrap();
        fs::create_dir_all(folder.path().join("wal")).unwrap();
        for name in ["edge_config.json", "segments/one/a", "segments/one/b", "wal/open-1"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let marker = Marker { files: Some(stamps(folder.path())), ..Marker::first(NOW) };
        (folder, marker)
    }

    fn stamps(folder: &Path) -> Vec<FileStamp> {
        FileStamp::all(folder, Duration::from_secs(60)).unwrap()
    }

    /// Writes a file so that its time differs from the one before.
    fn write(folder: &Path, name: &str, content: &[u8], modified: u64) {
        fs::write(folder.join(name), content).unwrap();
        let at = std::time::UNIX_EPOCH + Duration::from_secs(modified);
        File::options().write(true).open(folder.join(name)).unwrap().set_modified(at).unwrap();
    }

    #[test]
    fn marker_is_read_as_written_and_row_leaves_files_out() {
        let (folder, marker) = left();

        marker.write(folder.path()).unwrap();

        assert_eq!(Marker::read(folder.path()), Some(marker.clone()));
        let row = Marker::from_row(&marker.to_row().unwrap()).unwrap();
        assert_eq!(row, Marker { files: None, ..marker });
    }

    #[test]
    fn unreadable_marker_is_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(MARKER_FILE), b"garbage").unwrap();

        assert_eq!(Marker::read(folder.path()), None);
        assert!(Marker::is_broken(folder.path()));
        assert_eq!(Marker::read(&folder.path().join("none")), None);
        assert!(!Marker::is_broken(&folder.path().join("none")));
    }

    #[test]
    fn untouched_files_and_changed_log_are_the_same() {
        let (folder, marker) = left();
        write(folder.path(), "wal/open-1", b"another entry", 7);
        marker.write(folder.path()).unwrap();

        assert_eq!(marker.compare_files(folder.path()), FilesState::Same);
    }

    #[test]
    fn overwritten_truncated_or_removed_file_is_changed() {
        for change in ["overwritten", "truncated", "removed"] {
            let (folder, marker) = left();
            match change {
                "overwritten" => write(folder.path(), "segments/one/a", b"segments/one/X", 7),
                "truncated" => write(folder.path(), "segments/one/a", b"seg", 7),
                _ => fs::remove_file(folder.path().join("segments/one/a")).unwrap(),
            }

            assert_eq!(marker.compare_files(folder.path()), FilesState::Changed, "{change}");
        }
    }

    #[test]
    fn files_with_new_times_and_their_content_are_the_same() {
        for touched in [1, 3] {
            let (folder, marker) = left();
            for name in ["edge_config.json", "segments/one/a", "segments/one/b"].into_iter().take(touched) {
                write(folder.path(), name, name.as_bytes(), 7);
            }

            assert_eq!(marker.compare_files(folder.path()), FilesState::Same, "{touched}");
        }
    }

    #[test]
    fn files_with_new_times_and_no_checksum_are_unverified() {
        let (folder, marker) = left();
        let files = FileStamp::all(folder.path(), Duration::ZERO).unwrap();
        assert!(files.iter().all(|stamp| stamp.checksum.is_none()));
        write(folder.path(), "segments/one/a", b"segments/one/a", 7);

        let unread = Marker { files: Some(files), ..marker };

        assert_eq!(unread.compare_files(folder.path()), FilesState::Unverified);
    }

    #[test]
    fn nothing_is_known_after_a_kill() {
        let (folder, marker) = left();
        write(folder.path(), "segments/one/a", b"", 7);

        assert_eq!(Marker { files: None, ..marker }.compare_files(folder.path()), FilesState::Same);
    }
}
