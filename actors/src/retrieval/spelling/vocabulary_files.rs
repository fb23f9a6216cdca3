//! Keeps the vocabularies of large libraries in files, so that a restart does not lose them. They can be removed at any time: a vocabulary
//! is made again from the texts.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use disk::DiskSpace;
use search::spelling::{Vocabulary, VocabularyBuilder};
use tracing::warn;
use uuid::Uuid;
use values::id::{DocumentId, UserId};
use values::time::Timestamp;

/// The first word of a file. A change of the format, or of how words are folded, needs another one.
const FORMAT: &str = "carrel-vocabulary-1";
/// The last line of a file. One without it is not whole.
const END: &str = "\n.\n";
/// In the place of a document when there is none.
const NO_DOCUMENT: &str = "-";
/// Maximum number of bytes of a file. The largest vocabulary takes 14 MiB.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// The folder of the files. Clones share it.
#[derive(Clone, Debug)]
pub struct VocabularyFiles {
    folder: Arc<Path>,
    disk: DiskSpace,
}

/// A vocabulary of all texts of a user, and what decides when it is read again.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredVocabulary {
    /// The words.
    pub vocabulary: Arc<Vocabulary>,
    /// The newest document of the user when the texts were read.
    pub newest: Option<DocumentId>,
    /// When all texts were read. Texts that were added since are in it, and those that were removed may still be.
    pub read_at: Timestamp,
    /// Minimum time after which all texts are read again.
    pub reread_after: Duration,
}

impl VocabularyFiles {
    /// Keeps the files in a folder of this data folder. Nothing is written while one of the disks has no more than its floor.
    #[must_use]
    pub fn new(data_dir: &Path, disk: DiskSpace) -> Self {
        Self { folder: data_dir.join("vocabularies").into(), disk }
    }

    /// Returns the vocabulary of a user; `None` without a file of the user that is whole. One that is damaged, or cannot be read, is logged, and
    /// replaced by the next write. Blocks.
    pub(super) fn read(&self, user: UserId) -> Option<StoredVocabulary> {
        match self.read_content(user) {
            Ok(content) => {
                let stored = parse(&content, user);
                if stored.is_none() {
                    warn!(
                        "the file of the words of a library is damaged or of another version; it is made again"
                    );
                }
                stored
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                warn!(%error, "the file of the words of a library could not be read; it is made again");
                None
            }
        }
    }

    fn read_content(&self, user: UserId) -> io::Result<String> {
        let path = self.path(user);
        if fs::metadata(&path)?.len() > MAX_FILE_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        fs::read_to_string(&path)
    }

    /// Writes the vocabulary of a user, which replaces the former one as a whole. Blocks.
    pub(super) fn write(&self, user: UserId, stored: &StoredVocabulary) -> io::Result<()> {
        if !self.disk.has_room() {
            return Ok(());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let (path, unfinished) = (self.path(user), self.path(user).with_extension("new"));
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        let mut file = BufWriter::new(file);
        let newest = stored.newest.map_or_else(|| NO_DOCUMENT.to_owned(), |newest| newest.to_string());
        let (read_at, reread_after) = (stored.read_at.millis(), stored.reread_after.as_millis());
        write!(file, "{FORMAT} {user} {newest} {read_at} {reread_after}")?;
        for (word, texts) in stored.vocabulary.words() {
            write!(file, "\n{word} {texts}")?;
        }
        file.write_all(END.as_bytes())?;
        // Without a flush to the disk: what a power failure cuts off has no end, and is made again.
        file.flush()?;
        fs::rename(unfinished, path)
    }

    /// Removes the vocabulary of a user. Without one nothing happens. Blocks.
    pub(super) fn remove(&self, user: UserId) -> io::Result<()> {
        for path in [self.path(user), self.path(user).with_extension("new")] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the users of all files. Blocks.
    pub(super) fn users(&self) -> Vec<UserId> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let user_of = |path: PathBuf| Uuid::try_parse(path.file_stem()?.to_str()?).ok().map(UserId);
        let mut users: Vec<UserId> = entries.filter_map(|entry| user_of(entry.path())).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    fn path(&self, user: UserId) -> PathBuf {
        self.folder.join(user.to_string())
    }
}

/// Returns the vocabulary of a file; `None` if it is not whole, or of another user.
fn parse(content: &str, user: UserId) -> Option<StoredVocabulary> {
    let mut lines = content.strip_suffix(END)?.lines();
    let header: Vec<&str> = lines.next()?.split(' ').collect();
    let [FORMAT, owner, newest, read_at, reread_after] = header.as_slice() else { return None };
    if UserId(Uuid::try_parse(owner).ok()?) != user {
        return None;
    }
    let newest = match *newest {
        NO_DOCUMENT => None,
        id => Some(DocumentId(Uuid::try_parse(id).ok()?)),
    };
    let mut builder = VocabularyBuilder::default();
    for line in lines {
        let (word, texts) = line.split_once(' ')?;
        builder.add_word(word, texts.parse().ok()?);
    }
    Some(StoredVocabulary {
        vocabulary: Arc::new(builder.build()),
        newest,
        read_at: Timestamp::from_millis(read_at.parse().ok()?),
        reread_after: Duration::from_millis(reread_after.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    const USER: UserId = UserId(Uuid::from_u128(1));
    const OTHER: UserId = UserId(Uuid::from_u128(2));

    fn stored(newest: Option<DocumentId>) -> StoredVocabulary {
        let mut builder = VocabularyBuilder::default();
        builder.add("heron crème 东京 heron");
        builder.add("heron");
        StoredVocabulary {
            vocabulary: Arc::new(builder.build()),
            newest,
            read_at: Timestamp::from_millis(1_714_996_800_123),
            reread_after: Duration::from_millis(61_007),
        }
    }

    fn files() -> (TempDir, VocabularyFiles) {
        let folder = tempfile::tempdir().unwrap();
        let files = VocabularyFiles::new(folder.path(), DiskSpace::default());
        (folder, files)
    }

    #[test]
    fn written_vocabulary_is_read() {
        let (_folder, files) = files();
        assert_eq!(files.read(USER), None);
        for newest in [None, Some(DocumentId(Uuid::from_u128(3)))] {
            files.write(USER, &stored(newest)).unwrap();
            assert_eq!(files.read(USER), Some(stored(newest)));
        }
        assert_eq!(files.users(), [USER]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files.folder), mode(&files.path(USER))), (0o700, 0o600));

        files.remove(USER).unwrap();
        files.remove(USER).unwrap();
        assert_eq!((files.read(USER), files.users()), (None, Vec::new()));
    }

    #[test]
    fn vocabulary_of_another_user_is_not_read() {
        let (_folder, files) = files();
        files.write(USER, &stored(None)).unwrap();
        fs::rename(files.path(USER), files.path(OTHER)).unwrap();

        assert_eq!(files.read(OTHER), None);
    }

    #[test]
    fn part_of_a_file_is_not_read() {
        let (_folder, files) = files();
        files.write(USER, &stored(None)).unwrap();
        let whole = fs::read_to_string(files.path(USER)).unwrap();
        assert!(parse(&whole, USER).is_some());

        for part in (0..whole.len()).filter_map(|length| whole.get(..length)) {
            assert_eq!(parse(part, USER), None, "{part}");
        }
        for damaged in
            [whole.replace(" 2", " x"), whole.replace(FORMAT, "carrel-vocabulary-0"), String::new()]
        {
            assert_eq!(parse(&damaged, USER), None, "{damaged}");
        }
    }

    #[test]
    fn nothing_is_written_to_a_full_disk() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![folder.path().to_owned()], u64::MAX);
        let files = VocabularyFiles::new(folder.path(), disk);

        files.write(USER, &stored(None)).unwrap();

        assert_eq!((files.read(USER), folder.path().join("vocabularies").exists()), (None, false));
    }
}
