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

use super::{BlobError, Blobs, Direct, LocalFile, Writing};

/// See the file's head.
#[derive(Debug)]
pub struct Folder {
    store: LocalFileSystem,
    folder: PathBuf,
    disk: DiskSpace,
}

impl Folder {
    /// Opens a store in an existing folder. Files are announced on the last of these disks, and stop growing once one of them has
    /// reached its floor: uploads of gigabytes must not take the space that the database and the index need.
    ///
    /// # Errors
    /// It is not, or may not be entered.
    pub fn open(folder: PathBuf, disk: DiskSpace) -> Result<Self, BlobError> {
        // A file and the folder that names it reach the disk before anybody is told that it was stored.
        let store = LocalFileSystem::new_with_prefix(&folder)?.with_fsync(true);
        Ok(Self { store, folder: folder.canonicalize()?, disk })
    }

    fn file(&self, path: &str) -> Result<PathBuf, BlobError> {
        Ok(self.store.path_to_filesystem(&Key::from(path))?)
    }
}

#[async_trait]
impl Blobs for Folder {
    async fn create(&self, path: &str, length: Option<u64>) -> Result<Box<dyn Writing>, BlobError> {
        let reservation = self.disk.reserve(length)?;
        let upload = self.store.put_multipart(&Key::from(path)).await?;
        let (file, folder) = (self.file(path)?, self.folder.clone());
        Ok(Box::new(Parts { upload, last: None, file, folder, reservation }))
    }

    fn direct(&self) -> Option<&dyn Direct> {
        None
    }

    async fn local(&self, path: &str) -> Result<LocalFile, BlobError> {
        let file = self.file(path)?;
        if tokio::fs::try_exists(&file).await? { Ok(LocalFile::Kept(file)) } else { Err(BlobError::Missing) }
    }

    async fn remove(&self, path: &str) -> Result<(), BlobError> {
        // A write that died with its process left its bytes beside the place, under the name that the library gives.
        let mut broken = self.file(path)?.into_os_string();
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

/// A file on its way to the disk: while one part is written the next may be gathered.
struct Parts {
    upload: Box<dyn MultipartUpload>,
    last: Option<PartInProgress>,
    file: PathBuf,
    folder: PathBuf,
    reservation: DiskReservation,
}

/// A part that is being written.
struct PartInProgress {
    bytes: u64,
    written: tokio::task::JoinHandle<object_store::Result<()>>,
}

impl Parts {
    async fn written(&mut self) -> Result<(), BlobError> {
        let Some(last) = self.last.take() else { return Ok(()) };
        last.written.await.map_err(|error| BlobError::Failed(Box::new(error)))??;
        self.reservation.record_written(last.bytes);
        Ok(())
    }
}

#[async_trait]
impl Writing for Parts {
    async fn write(&mut self, part: Bytes) -> Result<(), BlobError> {
        self.written().await?;
        let bytes = part.len() as u64;
        self.reservation.require(bytes)?;
        let part: UploadPart = self.upload.put_part(part.into());
        self.last = Some(PartInProgress { bytes, written: tokio::spawn(part) });
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> Result<(), BlobError> {
        self.written().await?;
        self.upload.complete().await?;
        let Self { file, folder, .. } = *self;
        let given = tokio::task::spawn_blocking(move || give_to_owner(&folder, &file)).await;
        Ok(given.map_err(io::Error::other)??)
    }

    async fn abort(mut self: Box<Self>) {
        let written = self.written().await;
        let aborted = self.upload.abort().await.map_err(BlobError::from);
        if let Err(error) = written.and(aborted) {
            tracing::warn!(%error, "could not take back a broken file; the clean-up will");
        }
    }
}

/// What root writes, with a command beside a service of another account, is the folder's owner's, or the service could not
/// read it. SQLite does the same with the files of its log. No link is followed: the account may have put one there.
fn give_to_owner(folder: &Path, file: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut at = std::fs::File::open(folder)?;
    let owner = at.metadata()?;
    for name in file.strip_prefix(folder).map_err(io::Error::other)? {
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        at = openat(&at, name, how, Mode::empty())?.into();
        fchown(&at, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use disk::available_bytes;

    use super::*;

    async fn written(folder: &Folder, path: &str, parts: [&[u8]; 2]) -> Box<dyn Writing> {
        let mut writing = folder.create(path, None).await.unwrap();
        for part in parts {
            writing.write(Bytes::copy_from_slice(part)).await.unwrap();
        }
        writing
    }

    fn files(home: &tempfile::TempDir) -> usize {
        std::fs::read_dir(home.path().join("a")).unwrap().count()
    }

    #[tokio::test]
    async fn a_finished_file_is_there_whole_until_it_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path().to_owned(), DiskSpace::default()).unwrap();

        written(&folder, "a/b", [b"one ", b"two"]).await.finish().await.unwrap();

        let local = folder.local("a/b").await.unwrap();
        assert_eq!(std::fs::read(local.path()).unwrap(), b"one two");
        folder.remove("a/b").await.unwrap();
        folder.remove("a/b").await.unwrap();
        assert!(matches!(folder.local("a/b").await, Err(BlobError::Missing)));
    }

    #[tokio::test]
    async fn a_broken_file_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path().to_owned(), DiskSpace::default()).unwrap();

        written(&folder, "a/b", [b"one ", b"two"]).await.abort().await;
        assert_eq!(files(&home), 0);

        std::mem::forget(written(&folder, "a/c", [b"one ", b"two"]).await);
        assert_eq!(files(&home), 1);
        folder.remove("a/c").await.unwrap();
        assert_eq!(files(&home), 0);
    }

    #[tokio::test]
    async fn file_does_not_begin_below_the_floor_of_the_disk() {
        let home = tempfile::tempdir().unwrap();
        let full = DiskSpace::new(vec![home.path().to_owned()], u64::MAX);
        let folder = Folder::open(home.path().to_owned(), full).unwrap();

        for length in [None, Some(3)] {
            let refused = folder.create("a/b", length).await;
            assert!(matches!(refused, Err(BlobError::Full)));
        }

        assert!(!home.path().join("a").exists());
    }

    #[tokio::test]
    async fn file_is_announced_until_it_is_written() {
        let home = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![home.path().to_owned()], 1);
        let most = available_bytes(home.path()).unwrap() / 4 * 3;
        let folder = Folder::open(home.path().to_owned(), disk.clone()).unwrap();

        let writing = folder.create("a/b", Some(most)).await.unwrap();

        assert!(matches!(folder.create("a/c", Some(most)).await, Err(BlobError::Full)));
        assert!(disk.reserve(Some(most)).is_err());
        writing.abort().await;
        disk.reserve(Some(most)).unwrap();
    }

    #[tokio::test]
    async fn what_root_writes_is_the_folders_owners() {
        let home = tempfile::tempdir().unwrap();
        if std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).is_err() {
            eprintln!("not looked at: only root may give a folder to another account");
            return;
        }
        let folder = Folder::open(home.path().to_owned(), DiskSpace::default()).unwrap();

        written(&folder, "a/b", [b"one ", b"two"]).await.finish().await.unwrap();

        let owner = |path: &str| std::fs::metadata(home.path().join(path)).unwrap().uid();
        assert_eq!([owner("a"), owner("a/b")], [65534, 65534]);
        let (file, link) = (home.path().join("c"), home.path().join("d"));
        std::fs::write(&file, "root's").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(give_to_owner(home.path(), &link).is_err());
        assert_eq!(owner("c"), 0, "a link was followed");
    }
}
