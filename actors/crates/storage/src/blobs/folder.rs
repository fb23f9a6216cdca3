//! Files in a folder of this machine.

use std::io;
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use disk::{DiskReservation, DiskSpace};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{MultipartUpload, ObjectStoreExt, UploadPart};
use rustix::fs::{Mode, OFlags, openat};
use tokio_util::bytes::Bytes;

use super::{BlobError, BlobStore, BlobWriter, LocalFile, PresignedUploads};

/// A store in a folder of this machine.
#[derive(Debug)]
pub struct FolderStore {
    store: LocalFileSystem,
    folder: PathBuf,
    disk: DiskSpace,
}

impl FolderStore {
    /// Opens a store in an existing folder. Bytes are announced to `disk` before they are written, and files stop growing once one
    /// of its disks has reached its floor: uploads of gigabytes must not take the space that the database and the index need.
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
        let reservation = self.disk.reserve(length)?;
        let upload = self.store.put_multipart(&Key::from(path)).await?;
        let (file, folder) = (self.file_path(path)?, self.folder.clone());
        Ok(Box::new(FolderWriter { upload, last_part: None, file, folder, reservation }))
    }

    fn presigned_uploads(&self) -> Option<&dyn PresignedUploads> {
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

    async fn remove(&self, path: &str) -> Result<(), BlobError> {
        // The bytes of a write whose process was killed are beside the file, under the name that object_store gives them.
        let mut broken = self.file_path(path)?.into_os_string();
        broken.push("#1");
        match tokio::fs::remove_file(broken).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        match self.store.delete(&Key::from(path)).await.map_err(BlobError::from) {
            Ok(()) | Err(BlobError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A file that is being written: while one part is written, the caller may fill the next.
struct FolderWriter {
    upload: Box<dyn MultipartUpload>,
    last_part: Option<PartInProgress>,
    file: PathBuf,
    folder: PathBuf,
    reservation: DiskReservation,
}

/// A part that is being written.
struct PartInProgress {
    bytes: u64,
    write: tokio::task::JoinHandle<object_store::Result<()>>,
}

impl FolderWriter {
    /// Waits for the last part.
    async fn finish_part(&mut self) -> Result<(), BlobError> {
        let Some(last) = self.last_part.take() else { return Ok(()) };
        last.write.await.map_err(|error| BlobError::Failed(Box::new(error)))??;
        self.reservation.record_written(last.bytes);
        Ok(())
    }
}

#[async_trait]
impl BlobWriter for FolderWriter {
    async fn write(&mut self, part: Bytes) -> Result<(), BlobError> {
        self.finish_part().await?;
        let bytes = part.len() as u64;
        self.reservation.require(bytes)?;
        let part: UploadPart = self.upload.put_part(part.into());
        self.last_part = Some(PartInProgress { bytes, write: tokio::spawn(part) });
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<(), BlobError> {
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
            tracing::warn!(%error, "could not take back a broken file; the clean-up will");
        }
    }
}

/// Gives a file that root wrote to the owner of the store's folder: a service that runs under another account could not read what
/// a command of root's wrote. SQLite does the same with the files of its log. Follows no symbolic link, because that account may
/// have put one there.
fn chown_to_owner(folder: &Path, file: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut at = std::fs::File::open(folder)?;
    let owner = at.metadata()?;
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
    async fn bytes_are_announced_until_they_are_written() {
        let home = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![home.path().to_owned()], 1);
        let bytes = available_bytes(home.path()).unwrap() / 4 * 3;
        let store = FolderStore::open(home.path().to_owned(), disk.clone()).unwrap();

        let writer = store.create("a/b", Some(bytes)).await.unwrap();

        assert!(matches!(store.create("a/c", Some(bytes)).await, Err(BlobError::Full)));
        assert!(disk.reserve(Some(bytes)).is_err());
        writer.abort().await;
        disk.reserve(Some(bytes)).unwrap();
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
