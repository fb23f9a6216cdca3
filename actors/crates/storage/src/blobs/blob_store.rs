//! What every store of files can do.

use std::ops::Range;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use tokio_util::bytes::Bytes;

use super::blob_error::BlobError;
use super::local_file::LocalFile;
use super::s3::S3Store;

/// Size of the parts in which callers write to a store. Of one file at most two parts are in memory: one that is being filled, and
/// one that is being written.
pub const PART_BYTES: usize = 1 << 20;

/// The bytes of a part of a file, in chunks of at most [`PART_BYTES`] as they are read. It ends with the first error.
pub type ByteStream = BoxStream<'static, Result<Bytes, BlobError>>;

/// A store of files by paths that are derived from ids ([`blob_path`](super::blob_path), [`incoming_path`](super::incoming_path)).
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Begins a file that this server writes, of this length in bytes if it is known. No space is reserved for the file: each part
    /// must fit when it is written.
    ///
    /// # Errors
    /// [`BlobError::Full`] when a file of this length does not fit above the floor of a disk now; otherwise any [`BlobError`].
    async fn create(&self, path: &str, length: Option<u64>) -> Result<Box<dyn BlobWriter>, BlobError>;

    /// Returns the bucket to which clients send uploads themselves; `None` when this server receives their bytes.
    fn upload_bucket(&self) -> Option<&S3Store>;

    /// Makes a file available under a path of this machine.
    ///
    /// # Errors
    /// [`BlobError::Missing`] when the store has no such file; [`BlobError::Full`] when there is no space for a local copy.
    async fn local_file(&self, path: &str) -> Result<LocalFile, BlobError>;

    /// Returns the length of a file in bytes.
    ///
    /// # Errors
    /// [`BlobError::Missing`] when the store has no such file; otherwise any [`BlobError`].
    async fn length(&self, path: &str) -> Result<u64, BlobError>;

    /// Reads a part of a file, of at least one byte. The range must lie within the file.
    ///
    /// # Errors
    /// [`BlobError::Missing`] when the store has no such file; otherwise any [`BlobError`], also in the stream.
    async fn read_range(&self, path: &str, range: Range<u64>) -> Result<ByteStream, BlobError>;

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
