//! Files in a folder of this machine.

use std::io::{self, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use disk::DiskSpace;
use futures_util::{StreamExt, stream};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{MultipartUpload, ObjectStoreExt, UploadPart};
use rustix::fs::{Mode, OFlags, openat};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::task::JoinHandle;
use tokio_util::bytes::Bytes;

use super::blob_error::BlobError;
use super::blob_store::{BlobStore, BlobWriter, ByteStream};
use super::local_file::LocalFile;
use super::s3::S3Store;

/// The bytes that are read from a file at a time.
const CHUNK_BYTES: u64 = 256 * 1024;

/// A store in a folder of this machine.
#[derive(Debug)]
pub struct FolderStore {
    store: LocalFileSystem,
    folder: PathBuf,
    disk: DiskSpace,
}

impl FolderStore {
    /// Opens a store in an existing folder. Each part of a file is announced to `disk` before it is written, and files stop growing
    /// once one of its disks has reached its floor: uploads of gigabytes must not take the space that the database and the index
    /// need.
    ///
    /// # Errors
    /// [`BlobError::Failed`] when the folder does not exist or may not be entered.
    pub fn open(folder: PathBuf, disk: DiskSpace) -> Result<Self, BlobError> {
        // A file and its entry in the folder are on the disk before the caller learns that it was stored.
        let store = LocalFileSystem::new_with_prefix(&folder)?.with_fsync(true);
        Ok(Self { store, folder: folder.canonicalize()?, disk })
    }

    fn file_path(&self, path: &str) -> Result<PathBuf, BlobError> {
        Ok(self.store.path_to_filesystem(&Key::from(path))?)
    }
}

#[async_trait]
impl BlobStore for FolderStore {
    async fn create(&self, path: &str, length: Option<u64>) -> Result<Box<dyn BlobWriter>, BlobError> {
        // Refuses a file that does not fit, and keeps no space reserved for it: its bytes may come from a slow client, and a few
        // long files that stall would keep the space of the disk from all others.
        drop(self.disk.reserve(length)?);
        let upload = self.store.put_multipart(&Key::from(path)).await?;
        let (file, folder, disk) = (self.file_path(path)?, self.folder.clone(), self.disk.clone());
        Ok(Box::new(FolderWriter { upload, last_part: None, file, folder, disk }))
    }

    fn upload_bucket(&self) -> Option<&S3Store> {
        None
    }

    async fn local_file(&self, path: &str) -> Result<LocalFile, BlobError> {
        let file = self.file_path(path)?;
        if tokio::fs::try_exists(&file).await? {
            Ok(LocalFile::Stored(file))
        } else {
            Err(BlobError::Missing)
        }
    }

    async fn length(&self, path: &str) -> Result<u64, BlobError> {
        Ok(tokio::fs::metadata(self.file_path(path)?).await.map_err(missing_or_failed)?.len())
    }

    async fn read_range(&self, path: &str, range: Range<u64>) -> Result<ByteStream, BlobError> {
        let mut file = tokio::fs::File::open(self.file_path(path)?).await.map_err(missing_or_failed)?;
        file.seek(SeekFrom::Start(range.start)).await?;
        let rest = range.end.saturating_sub(range.start);
        let chunks = stream::try_unfold((file, rest), |(mut file, rest)| async move {
            let mut chunk = Vec::new();
            let read = (&mut file).take(rest.min(CHUNK_BYTES)).read_to_end(&mut chunk).await?;
            let rest = rest.saturating_sub(read as u64);
            Ok::<_, BlobError>((read > 0).then(|| (Bytes::from(chunk), (file, rest))))
        });
        Ok(chunks.boxed())
    }

    async fn remove(&self, path: &str) -> Result<(), BlobError> {
        // object_store writes a file under this name until it is complete. A process that was killed leaves it.
        let mut partial = self.file_path(path)?.into_os_string();
        partial.push("#1");
        match tokio::fs::remove_file(partial).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        match self.store.delete(&Key::from(path)).await.map_err(BlobError::from) {
            Ok(()) | Err(BlobError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn missing_or_failed(error: io::Error) -> BlobError {
    if error.kind() == io::ErrorKind::NotFound { BlobError::Missing } else { error.into() }
}

/// A file that is being written: while one part is written, the caller may fill the next.
struct FolderWriter {
    upload: Box<dyn MultipartUpload>,
    /// The part that is being written.
    last_part: Option<JoinHandle<object_store::Result<()>>>,
    file: PathBuf,
    folder: PathBuf,
    disk: DiskSpace,
}

impl FolderWriter {
    /// Waits until the last part is written.
    async fn finish_part(&mut self) -> Result<(), BlobError> {
        let Some(last_part) = self.last_part.take() else { return Ok(()) };
        Ok(last_part.await.map_err(|error| BlobError::Failed(Box::new(error)))??)
    }
}

#[async_trait]
impl BlobWriter for FolderWriter {
    async fn write(&mut self, part: Bytes) -> Result<(), BlobError> {
        // At most one part is being written while the caller fills the next.
        self.finish_part().await?;
        let bytes = part.len() as u64;
        // Announced part by part, because `create` keeps no space for the file.
        let mut reservation = self.disk.reserve(Some(bytes))?;
        let write: UploadPart = self.upload.put_part(part.into());
        self.last_part =
            Some(tokio::spawn(async move { write.await.inspect(|()| reservation.record_written(bytes)) }));
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<(), BlobError> {
        // A failure of the last part is known only now.
        self.finish_part().await?;
        self.upload.complete().await?;
        let Self { file, folder, .. } = *self;
        let changed = tokio::task::spawn_blocking(move || chown_to_owner(&folder, &file)).await;
        Ok(changed.map_err(io::Error::other)??)
    }

    async fn abort(mut self: Box<Self>) {
        let written = self.finish_part().await;
        let aborted = self.upload.abort().await.map_err(BlobError::from);
        if let Err(error) = written.and(aborted) {
            tracing::warn!(%error, "could not remove a partial file; the clean-up will remove it");
        }
    }
}

/// Gives a file that root wrote to the owner of the store's folder: a server that runs under another account could not read a
/// file that a command of root wrote. SQLite does the same with the files of its log. Follows no symbolic link, because that account
/// may have put one there.
fn chown_to_owner(folder: &Path, file: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut at = std::fs::File::open(folder)?;
    let owner = at.metadata()?;
    // Folder by folder from an open one: a path would be resolved again for each call, and a link put in between would be followed.
    for name in file.strip_prefix(folder).map_err(io::Error::other)? {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        at = openat(&at, name, flags, Mode::empty())?.into();
        fchown(&at, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use disk::available_bytes;

    use super::*;

    async fn write(store: &FolderStore, path: &str, parts: [&[u8]; 2]) -> Box<dyn BlobWriter> {
        let mut writer = store.create(path, None).await.unwrap();
        for part in parts {
            writer.write(Bytes::copy_from_slice(part)).await.unwrap();
        }
        writer
    }

    fn count_files(home: &tempfile::TempDir) -> usize {
        std::fs::read_dir(home.path().join("a")).unwrap().count()
    }

    #[tokio::test]
    async fn finished_file_is_whole_until_it_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let store = FolderStore::open(home.path().to_owned(), DiskSpace::default()).unwrap();

        write(&store, "a/b", [b"one ", b"two"]).await.finish().await.unwrap();

        let local = store.local_file("a/b").await.unwrap();
        assert_eq!(std::fs::read(local.path()).unwrap(), b"one two");
        store.remove("a/b").await.unwrap();
        store.remove("a/b").await.unwrap();
        assert!(matches!(store.local_file("a/b").await, Err(BlobError::Missing)));
    }

    #[tokio::test]
    async fn part_of_a_file_is_read() {
        let home = tempfile::tempdir().unwrap();
        let store = FolderStore::open(home.path().to_owned(), DiskSpace::default()).unwrap();
        write(&store, "a/b", [b"one ", b"two"]).await.finish().await.unwrap();

        let part: Vec<_> = store.read_range("a/b", 2..5).await.unwrap().collect().await;

        assert_eq!(part.into_iter().map(Result::unwrap).collect::<Vec<_>>().concat(), b"e t");
        assert_eq!(store.length("a/b").await.unwrap(), 7);
        assert!(matches!(store.length("a/c").await, Err(BlobError::Missing)));
        assert!(matches!(store.read_range("a/c", 0..1).await, Err(BlobError::Missing)));
    }

    #[tokio::test]
    async fn interrupted_write_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let store = FolderStore::open(home.path().to_owned(), DiskSpace::default()).unwrap();

        write(&store, "a/b", [b"one ", b"two"]).await.abort().await;
        assert_eq!(count_files(&home), 0);

        std::mem::forget(write(&store, "a/c", [b"one ", b"two"]).await);
        assert_eq!(count_files(&home), 1);
        store.remove("a/c").await.unwrap();
        assert_eq!(count_files(&home), 0);
    }

    #[tokio::test]
    async fn create_below_the_floor_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let full = DiskSpace::new(vec![home.path().to_owned()], u64::MAX);
        let store = FolderStore::open(home.path().to_owned(), full).unwrap();

        for length in [None, Some(3)] {
            let refused = store.create("a/b", length).await;
            assert!(matches!(refused, Err(BlobError::Full)));
        }

        assert!(!home.path().join("a").exists());
    }

    #[tokio::test]
    async fn stalled_files_keep_no_space_from_others() {
        let home = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![home.path().to_owned()], 1);
        // Each file fits alone; two do not fit together.
        let bytes = available_bytes(home.path()).unwrap() / 4 * 3;
        let store = FolderStore::open(home.path().to_owned(), disk.clone()).unwrap();
        let mut stalled = store.create("a/b", Some(bytes)).await.unwrap();
        stalled.write(Bytes::from_static(b"one")).await.unwrap();

        let mut other = store.create("a/c", Some(bytes)).await.unwrap();
        other.write(Bytes::from_static(b"two")).await.unwrap();

        disk.reserve(Some(bytes)).unwrap();
        other.finish().await.unwrap();
        stalled.abort().await;
    }

    #[tokio::test]
    async fn file_longer_than_the_free_space_is_not_begun() {
        let home = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![home.path().to_owned()], 1);
        let store = FolderStore::open(home.path().to_owned(), disk).unwrap();

        let refused = store.create("a/b", Some(u64::MAX)).await;

        assert!(matches!(refused, Err(BlobError::Full)));
        assert!(!home.path().join("a").exists());
    }

    #[tokio::test]
    async fn part_that_does_not_fit_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let store = FolderStore::open(home.path().to_owned(), DiskSpace::default()).unwrap();
        let upload = store.store.put_multipart(&Key::from("a/b")).await.unwrap();
        let (file, folder) = (home.path().join("a/b"), home.path().to_owned());
        let disk = DiskSpace::new(vec![home.path().to_owned()], u64::MAX);
        let mut writer = Box::new(FolderWriter { upload, last_part: None, file, folder, disk });

        let refused = writer.write(Bytes::from_static(b"one")).await;

        assert!(matches!(refused, Err(BlobError::Full)));
        writer.abort().await;
    }

    #[tokio::test]
    async fn file_written_by_root_belongs_to_the_owner_of_the_folder() {
        let home = tempfile::tempdir().unwrap();
        if std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).is_err() {
            eprintln!("skipped: only root may give a folder to another account");
            return;
        }
        let store = FolderStore::open(home.path().to_owned(), DiskSpace::default()).unwrap();

        write(&store, "a/b", [b"one ", b"two"]).await.finish().await.unwrap();

        let owner = |path: &str| std::fs::metadata(home.path().join(path)).unwrap().uid();
        assert_eq!([owner("a"), owner("a/b")], [65534, 65534]);
        let (file, link) = (home.path().join("c"), home.path().join("d"));
        std::fs::write(&file, "root's").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(chown_to_owner(home.path(), &link).is_err());
        assert_eq!(owner("c"), 0, "a link was followed");
    }
}
