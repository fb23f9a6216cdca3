//! Where the bytes of files are kept: a folder of this machine, or a bucket that speaks S3, both through the library
//! `object_store`. Paths are made here from ids, never from what anybody wrote.
//!
//! The two differ in who takes the bytes of uploads in. With a folder that is this service; with a bucket the client sends
//! them past it, to an address that is signed for one file ([`Blobs::direct`]). What the service makes itself it writes to
//! either ([`Blobs::create`]).

mod folder;
mod s3;

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use disk::ScratchFile;
use entity::id::{FileId, UploadId};
use tokio_util::bytes::Bytes;

pub use folder::Folder;
pub use s3::{Bucket, BucketSettings};

/// Bytes gathered before they go to the disk together: the most that an arriving file takes in memory is twice this.
pub const PART: usize = 1 << 20;

/// The store of files.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Begins a file that this service writes, of this length in bytes where that is known.
    ///
    /// # Errors
    /// [`BlobError`]; [`BlobError::Full`] already where a file of this length would take a disk below its floor.
    async fn create(&self, path: &str, length: Option<u64>) -> Result<Box<dyn Writing>, BlobError>;

    /// What a store can do to which clients send bytes themselves; `None` where this service takes them in.
    fn direct(&self) -> Option<&dyn Direct>;

    /// The file as one of this machine, for those who read it by path.
    ///
    /// # Errors
    /// [`BlobError::Missing`] where it is not there.
    async fn local(&self, path: &str) -> Result<LocalFile, BlobError>;

    /// Removes a file, and whatever a broken write of it left; one that is not there is removed already.
    ///
    /// # Errors
    /// [`BlobError`]: it may be there still.
    async fn remove(&self, path: &str) -> Result<(), BlobError>;
}

/// A file that is being written. Dropped before [`Writing::finish`] it leaves nothing.
#[async_trait]
pub trait Writing: Send {
    /// Adds bytes at the end.
    ///
    /// # Errors
    /// [`BlobError`]; nothing more can be added then.
    async fn write(&mut self, part: Bytes) -> Result<(), BlobError>;

    /// Puts the file in its place. Once this has answered, the bytes outlive a crash of the machine.
    ///
    /// # Errors
    /// [`BlobError`]: the file is not there.
    async fn finish(self: Box<Self>) -> Result<(), BlobError>;

    /// Takes back what was written.
    async fn abort(self: Box<Self>);
}

/// What came at an address that a client sent bytes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// How many.
    pub bytes: u64,
    /// What the client said they are.
    pub content_type: Option<String>,
}

/// A store that takes bytes from clients.
#[async_trait]
pub trait Direct: Send + Sync {
    /// An address for a PUT of this type, good for so long.
    ///
    /// # Errors
    /// [`BlobError`]: there are no credentials.
    async fn put_address(&self, path: &str, content_type: &str, valid: Duration)
    -> Result<String, BlobError>;

    /// What is there by now.
    ///
    /// # Errors
    /// [`BlobError`]: the store does not say.
    async fn arrived(&self, path: &str) -> Result<Option<Arrived>, BlobError>;

    /// Copies within the store.
    ///
    /// # Errors
    /// [`BlobError`]: there is no copy.
    async fn copy(&self, from: &str, to: &str) -> Result<(), BlobError>;

    /// SHA-256 of a file in hexadecimal digits; its bytes pass through.
    ///
    /// # Errors
    /// [`BlobError`]: it was not read whole.
    async fn sha256(&self, path: &str) -> Result<String, BlobError>;
}

/// A stored file as one of this machine.
#[derive(Debug)]
pub enum LocalFile {
    /// The stored file itself: not to be changed.
    Kept(PathBuf),
    /// A copy that goes away with this.
    Copied(ScratchFile),
}

impl LocalFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            LocalFile::Kept(path) => path,
            LocalFile::Copied(copy) => copy.path(),
        }
    }
}

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// There is no such file.
    #[error("the file is not in the store")]
    Missing,
    /// No room is left.
    #[error("the store is full")]
    Full,
    /// The store takes bytes another way.
    #[error("the store takes no bytes from the service")]
    NotHere,
    /// Anything else.
    #[error("reach the store of files")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<object_store::Error> for BlobError {
    fn from(error: object_store::Error) -> Self {
        if matches!(error, object_store::Error::NotFound { .. }) {
            return BlobError::Missing;
        }
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

/// The path of a file in the store: its id, in a folder by its last two digits, so that no folder grows large.
pub fn path_of(id: FileId) -> String {
    let [.., last] = *id.0.as_bytes();
    format!("{last:02x}/{id}")
}

/// The path to which a client sends the bytes of an upload; they are copied from there once they have come.
pub fn incoming_path_of(id: UploadId) -> String {
    format!("incoming/{id}")
}
