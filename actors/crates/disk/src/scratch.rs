//! Temporary files in a folder that belongs to this server. Each is removed when its handle is dropped, and files that a crash
//! left are removed at the next start.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::{AsyncWriteExt, BufWriter};
use uuid::Uuid;

use super::disk_space::DiskSpace;
use super::reservation::DiskReservation;

/// Bytes that a [`ScratchWriter`] gathers before they go to the disk together.
const BUFFER_BYTES: usize = 1 << 20;

/// The folder of the temporary files. Clones share it.
#[derive(Clone, Debug)]
pub struct Scratch {
    folder: Arc<Path>,
    disk: DiskSpace,
}

impl Scratch {
    /// Creates the folder, or empties it: it is used by one process at a time, so files in it are left over from a crash.
    ///
    /// # Errors
    /// [`io::Error`] when the folder can be neither emptied nor created.
    pub fn open(folder: PathBuf, disk: DiskSpace) -> io::Result<Self> {
        // Files of a process that was killed: nothing refers to them.
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(Self { folder: folder.into(), disk })
    }

    /// Announces a file that is about to be written, with its length in bytes if that is known.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] when it would take a disk of the server below its floor.
    pub fn reserve(&self, length: Option<u64>) -> io::Result<DiskReservation> {
        self.disk.reserve(length)
    }

    /// Creates an empty file that only the account of this process can read and write.
    ///
    /// # Errors
    /// [`io::Error`] when the file cannot be created.
    pub fn file(&self) -> io::Result<(ScratchFile, std::fs::File)> {
        let path = self.folder.join(Uuid::new_v4().to_string());
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((ScratchFile { path }, file))
    }

    /// Creates a file that is written from its beginning to its end, with its length in bytes if that is known.
    ///
    /// # Errors
    /// [`io::Error`] when the file cannot be created; [`io::ErrorKind::StorageFull`] when it would take a disk of the server below
    /// its floor.
    pub fn writer(&self, length: Option<u64>) -> io::Result<ScratchWriter> {
        // Before the file is created, so that a refusal leaves nothing behind.
        let reservation = self.reserve(length)?;
        let (scratch_file, file) = self.file()?;
        let file = BufWriter::with_capacity(BUFFER_BYTES, tokio::fs::File::from_std(file));
        Ok(ScratchWriter { scratch_file, file, reservation, buffered_bytes: 0 })
    }
}

/// A temporary file, which is removed when this is dropped.
#[derive(Debug)]
pub struct ScratchFile {
    path: PathBuf,
}

impl ScratchFile {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, "could not delete a temporary file");
        }
    }
}

/// A temporary file that is being written, which is removed when this is dropped.
#[derive(Debug)]
pub struct ScratchWriter {
    scratch_file: ScratchFile,
    file: BufWriter<tokio::fs::File>,
    reservation: DiskReservation,
    buffered_bytes: u64,
}

impl ScratchWriter {
    /// Adds bytes at the end.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] when a disk of the server has reached its floor; nothing more can be added then.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        self.reservation.require(self.buffered_bytes + length)?;
        self.file.write_all(bytes).await?;
        self.buffered_bytes += length;
        if self.buffered_bytes >= BUFFER_BYTES as u64 { self.flush().await } else { Ok(()) }
    }

    /// Writes what is still buffered, and returns the file.
    ///
    /// # Errors
    /// [`io::Error`] when the last bytes cannot be written.
    pub async fn finish(mut self) -> io::Result<ScratchFile> {
        self.flush().await?;
        Ok(self.scratch_file)
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.file.flush().await?;
        // Only now: a measurement does not see bytes that are still in the buffer, so they count as announced until then.
        self.reservation.record_written(self.buffered_bytes);
        self.buffered_bytes = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_file_is_removed_on_drop_or_at_the_next_start() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("scratch");
        let scratch = Scratch::open(folder.clone(), DiskSpace::default()).unwrap();

        let (held, _) = scratch.file().unwrap();
        let path = held.path().to_owned();
        assert!(path.exists());
        drop(held);
        assert!(!path.exists());

        let (lost, _) = scratch.file().unwrap();
        std::mem::forget(lost);
        Scratch::open(folder.clone(), DiskSpace::default()).unwrap();
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn written_file_is_whole() {
        let home = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![home.path().to_owned()], 1);
        let scratch = Scratch::open(home.path().join("scratch"), disk).unwrap();
        let sent: Vec<u8> = (0..3 << 20).map(|n: u32| n.to_le_bytes()[0]).collect();

        let mut writer = scratch.writer(None).unwrap();
        for part in sent.chunks(70_000) {
            writer.write(part).await.unwrap();
        }
        let file = writer.finish().await.unwrap();

        assert!(std::fs::read(file.path()).unwrap() == sent);
    }

    #[tokio::test]
    async fn file_is_not_begun_below_the_floor() {
        let home = tempfile::tempdir().unwrap();
        let full = DiskSpace::new(vec![home.path().to_owned()], u64::MAX);
        let scratch = Scratch::open(home.path().join("scratch"), full).unwrap();

        let refused = scratch.writer(None).unwrap_err();

        assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read_dir(home.path().join("scratch")).unwrap().count(), 0);
    }
}
