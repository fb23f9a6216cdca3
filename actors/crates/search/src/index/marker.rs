//! The marker of an index: a small file in its folder, of which the database keeps a copy. By comparing the two the server finds out
//! at its start, without counting passages, whether the folder is still the one that it left.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use values::id::IndexId;
use values::time::Timestamp;

/// Name of the marker in the folder of an index.
pub const MARKER_FILE: &str = "carrel.json";
/// The marker is written here and then renamed, so that a full disk leaves the old one intact.
const MARKER_DRAFT: &str = "carrel.json.new";
/// The log of the engine. Its files change when they are opened, so they are not compared.
const LOG_FOLDER: &str = "wal";

/// Time for which the files of an index are read for their checksums when it is opened. Files that are left then are unverified.
const MAX_VERIFICATION_TIME: Duration = Duration::from_secs(10);
/// Size of the reads by which checksums are computed.
const READ_BYTES: usize = 1 << 20;

/// Identifies an index and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Id of this generation of the index: a new index has a new one, and so has an index after it was compared.
    pub generation: IndexId,
    /// Raised at each start and, while passages change, every minute. A restored copy of the folder has a lower one than the database.
    pub sequence: u64,
    /// The folder holds every change that was made before this time.
    pub as_of: Timestamp,
    /// The files as an orderly stop left them; `None` while the index is open, and in the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileStamp>>,
}

/// A file of the index as an orderly stop left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Its path within the folder.
    pub path: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Time of the last write, in seconds and nanoseconds since the Unix epoch. A network file system may change it, and a copy has a
    /// different one.
    pub modified: (i64, i64),
    /// CRC-32 of its content; `None` if there was no time to read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<u32>,
}

/// Result of comparing the files of an index with those that an orderly stop left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesState {
    /// They are the same, or nothing is known of them because the stop was not orderly.
    Same,
    /// Some have another time of change, and it is unknown whether their content is the same.
    Unverified,
    /// Some are missing, or have another length or another content.
    Changed,
}

impl Marker {
    /// Returns the first marker of a new generation.
    pub fn first(now: Timestamp) -> Self {
        Self { generation: IndexId::new(now), sequence: 1, as_of: now, files: None }
    }

    /// Returns the marker after this one.
    #[must_use]
    pub fn next(&self, now: Timestamp) -> Self {
        Self { generation: self.generation, sequence: self.sequence + 1, as_of: now, files: None }
    }

    /// Reads the marker of an index; `None` if there is none, or it cannot be read.
    #[must_use]
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(MARKER_FILE)).ok()?).ok()
    }

    /// Returns whether an index has a marker that cannot be parsed. Markers are written whole or not at all, so it was damaged.
    #[must_use]
    pub fn is_broken(folder: &Path) -> bool {
        fs::read(folder.join(MARKER_FILE)).is_ok_and(|bytes| serde_json::from_slice::<Self>(&bytes).is_err())
    }

    /// Parses what [`Marker::to_row`] returned; `None` for anything else.
    #[must_use]
    pub fn from_row(row: &str) -> Option<Self> {
        serde_json::from_str(row).ok()
    }

    /// Returns the marker as the database keeps it: JSON without the files.
    ///
    /// # Errors
    /// [`io::Error`] when the marker cannot be written as JSON, which does not happen: every marker can.
    pub fn to_row(&self) -> io::Result<String> {
        Ok(serde_json::to_string(&Self { files: None, ..self.clone() })?)
    }

    /// Writes the marker into the folder of an index, whole or not at all. Blocks.
    ///
    /// # Errors
    /// [`io::Error`] when the folder does not exist or cannot be written to, or its disk is full.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let (draft, target) = (folder.join(MARKER_DRAFT), folder.join(MARKER_FILE));
        let mut file = File::create(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        // Synced before the rename: otherwise a power loss could leave the new name with an empty file.
        file.sync_all()?;
        drop(file);
        fs::rename(&draft, &target)?;
        // The rename is durable only once the folder is synced.
        File::open(folder)?.sync_all()
    }

    /// Removes the marker of an index, if it has one: the next start then compares the index with the database. Blocks.
    ///
    /// # Errors
    /// [`io::Error`] when the folder cannot be written to.
    pub fn remove(folder: &Path) -> io::Result<()> {
        match fs::remove_file(folder.join(MARKER_FILE)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Compares the files with their stamps in this marker, which an orderly stop wrote. Reads a file whose time of change differs,
    /// because times change without the content. Blocks, and reads for 10 seconds at most.
    #[must_use]
    pub fn compare_files(&self, folder: &Path) -> FilesState {
        let until = Instant::now() + MAX_VERIFICATION_TIME;
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
    /// Stamps every file of a closed index except the marker and the log, smallest first. Stops computing checksums after
    /// `checksum_time`. Blocks.
    ///
    /// # Errors
    /// [`io::Error`] when the folder cannot be read.
    pub fn all(folder: &Path, checksum_time: Duration) -> io::Result<Vec<Self>> {
        let until = Instant::now() + checksum_time;
        let mut found = Vec::new();
        collect_stamps(folder, Path::new(""), &mut found)?;
        // Smallest first, so that as many files as possible get a checksum in the time.
        found.sort_by_key(|stamp| stamp.bytes);
        for stamp in &mut found {
            stamp.checksum = checksum(&folder.join(&stamp.path), until)?;
        }
        Ok(found)
    }

    /// Returns the stamp of a file, without a checksum; `None` for anything that is not a file.
    fn of(folder: &Path, path: &str) -> Option<Self> {
        let found = fs::symlink_metadata(folder.join(path)).ok().filter(fs::Metadata::is_file)?;
        let modified = (found.mtime(), found.mtime_nsec());
        Some(Self { path: path.to_owned(), bytes: found.len(), modified, checksum: None })
    }

    /// Compares the file with its stamp. Stops reading it at `until`.
    fn compare(&self, folder: &Path, until: Instant) -> FilesState {
        let Some(found) = Self::of(folder, &self.path).filter(|found| found.bytes == self.bytes) else {
            return FilesState::Changed;
        };
        // Not read: an index has gigabytes, and every start would wait for them.
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

/// CRC-32 of a file; `None` if it could not be read to its end before `until`.
fn checksum(file: &Path, until: Instant) -> io::Result<Option<u32>> {
    let mut file = File::open(file)?;
    let (mut hasher, mut buffer) = (crc32fast::Hasher::new(), vec![0; READ_BYTES]);
    while Instant::now() < until {
        let read = file.read(&mut buffer)?;
        match buffer.get(..read) {
            Some(piece) if !piece.is_empty() => hasher.update(piece),
            Some(_) | None => return Ok(Some(hasher.finalize())),
        }
    }
    Ok(None)
}

fn collect_stamps(folder: &Path, within: &Path, found: &mut Vec<FileStamp>) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(within))? {
        let entry = entry?;
        let path = within.join(entry.file_name());
        let text = path.to_string_lossy().into_owned();
        if [MARKER_FILE, MARKER_DRAFT, LOG_FOLDER].contains(&text.as_str()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect_stamps(folder, &path, found)?;
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

    /// A folder with three files, and the marker of an orderly stop.
    fn closed_index() -> (tempfile::TempDir, Marker) {
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
        let (folder, marker) = closed_index();

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
        let (folder, marker) = closed_index();
        write(folder.path(), "wal/open-1", b"another entry", 7);
        marker.write(folder.path()).unwrap();

        assert_eq!(marker.compare_files(folder.path()), FilesState::Same);
    }

    #[test]
    fn overwritten_truncated_or_removed_file_is_changed() {
        for change in ["overwritten", "truncated", "removed"] {
            let (folder, marker) = closed_index();
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
            let (folder, marker) = closed_index();
            for name in ["edge_config.json", "segments/one/a", "segments/one/b"].into_iter().take(touched) {
                write(folder.path(), name, name.as_bytes(), 7);
            }

            assert_eq!(marker.compare_files(folder.path()), FilesState::Same, "{touched}");
        }
    }

    #[test]
    fn files_with_new_times_and_no_checksum_are_unverified() {
        let (folder, marker) = closed_index();
        let files = FileStamp::all(folder.path(), Duration::ZERO).unwrap();
        assert!(files.iter().all(|stamp| stamp.checksum.is_none()));
        write(folder.path(), "segments/one/a", b"segments/one/a", 7);

        let unread = Marker { files: Some(files), ..marker };

        assert_eq!(unread.compare_files(folder.path()), FilesState::Unverified);
    }

    #[test]
    fn nothing_is_known_after_a_kill() {
        let (folder, marker) = closed_index();
        write(folder.path(), "segments/one/a", b"", 7);

        assert_eq!(Marker { files: None, ..marker }.compare_files(folder.path()), FilesState::Same);
    }
}
