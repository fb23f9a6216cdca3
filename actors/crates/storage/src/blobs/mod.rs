//! Stores of files: a folder of this machine, or a bucket that speaks S3, both through the library `object_store`. Paths are made
//! from ids ([`blob_path`], [`incoming_path`]), never from names that a user chose.
//!
//! The two stores differ in who receives the bytes of uploads. With a folder the service does. With a bucket the client sends them
//! to the bucket itself, to a presigned URL ([`BlobStore::upload_bucket`]). Files that the service writes go the same way to
//! either ([`BlobStore::create`]).

mod folder;
mod s3;

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use disk::ScratchFile;
use tokio_util::bytes::Bytes;
use values::id::{FileId, UploadId};

pub use folder::FolderStore;
pub use s3::{S3Settings, S3Store};

/// Size of the parts in which callers write to a store. Of one file at most two parts are in memory: one that is being filled, and
/// one that is being written.
pub const PART_BYTES: usize = 1 << 20;

/// A store of files by paths that are derived from ids ([`blob_path`], [`incoming_path`]).
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Begins a file that this service writes, of this length in bytes if it is known. No space is reserved for the file: each part
    /// must fit when it is written.
    ///
    /// # Errors
    /// [`BlobError::Full`] when a file of this length does not fit above the floor of a disk now; otherwise any [`BlobError`].
    async fn create(&self, path: &str, length: Option<u64>) -> Result<Box<dyn BlobWriter>, BlobError>;

    /// Returns the bucket to which clients send uploads themselves; `None` when this service receives their bytes.
    fn upload_bucket(&self) -> Option<&S3Store>;

    /// Makes a file available under a path of this machine.
    ///
    /// # Errors
    /// [`BlobError::Missing`] when the store has no such file; [`BlobError::Full`] when there is no space for a local copy.
    async fn local_file(&self, path: &str) -> Result<LocalFile, BlobError>;

    /// Removes a file, and what an interrupted write of it left behind. Removing a file that does not exist succeeds.
    ///
    /// # Errors
    /// Any [`BlobError`]; the file may still exist then.
    async fn remove(&self, path: &str) -> Result<(), BlobError>;
}

/// A file that is being written. If it is dropped before [`BlobWriter::finish`], no file appears in the store.
#[async_trait]
pub trait BlobWriter: Send {
    /// Appends bytes. They may still be in memory when this returns, so a failure may be reported by a later call.
    ///
    /// # Errors
    /// [`BlobError::Full`] when they do not fit above the floor of a disk; otherwise any [`BlobError`]. Nothing more can be
    /// appended then.
    async fn write(&mut self, part: Bytes) -> Result<(), BlobError>;

    /// Makes the file appear in the store. Once this returns, its bytes outlive a crash of the machine.
    ///
    /// # Errors
    /// Any [`BlobError`]; the file does not exist then.
    async fn finish(self: Box<Self>) -> Result<(), BlobError>;

    /// Removes what was written. A failure is not reported: [`BlobStore::remove`] and rules of the bucket clean up what is left.
    async fn abort(self: Box<Self>);
}

/// An object that a client sent to a presigned URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedObject {
    /// Length in bytes, as the store counts it.
    pub bytes: u64,
    /// The content type that the client declared.
    pub content_type: Option<String>,
}

/// A file that can be read by a path of this machine.
#[derive(Debug)]
pub enum LocalFile {
    /// The file in the store itself. It must not be changed.
    Stored(PathBuf),
    /// A file that is removed when this is dropped.
    Temporary(ScratchFile),
}

impl LocalFile {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        match self {
            LocalFile::Stored(path) => path,
            LocalFile::Temporary(file) => file.path(),
        }
    }
}

/// Why an operation of a store failed.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The store has no such file.
    #[error("the file is not in the store")]
    Missing,
    /// The store has no space left.
    #[error("the store is full")]
    Full,
    /// Clients send the bytes of uploads to this store themselves, not to the service.
    #[error("the store receives uploads by presigned URLs only")]
    PresignedOnly,
    /// Any other failure, with the cause that the store reported.
    #[error("the store of files could not be read or written")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<object_store::Error> for BlobError {
    fn from(error: object_store::Error) -> Self {
        if matches!(error, object_store::Error::NotFound { .. }) {
            return BlobError::Missing;
        }
        // The library wraps the error of the operating system, so all causes are searched.
        let mut cause = error.source();
        while let Some(inner) = cause {
            if inner.downcast_ref::<io::Error>().is_some_and(is_full) {
                return BlobError::Full;
            }
            cause = inner.source();
        }
        BlobError::Failed(Box::new(error))
    }
}

impl From<io::Error> for BlobError {
    fn from(error: io::Error) -> Self {
        if is_full(&error) { BlobError::Full } else { BlobError::Failed(Box::new(error)) }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Returns the path of a file in the store: its id, in a folder named by the last two digits of the id, so that no folder grows large.
pub fn blob_path(id: FileId) -> String {
    // The last byte of a UUIDv7 is random. Its first bytes are a time, so all new files would share a folder.
    let [.., last] = *id.0.as_bytes();
    format!("{last:02x}/{id}")
}

/// Returns the path to which a client sends the bytes of an upload. They are copied from there once they have arrived.
pub fn incoming_path(id: UploadId) -> String {
    format!("incoming/{id}")
}
