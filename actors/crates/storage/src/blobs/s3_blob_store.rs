//! The bucket as a store of files that this server writes and reads.

use std::ops::Range;

use async_trait::async_trait;
use futures_util::StreamExt;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt, WriteMultipart};
use tokio_util::bytes::Bytes;

use super::blob_error::BlobError;
use super::blob_store::{BlobStore, BlobWriter, ByteStream};
use super::local_file::LocalFile;
use super::s3::{S3Store, UPLOAD_PART_BYTES};

#[async_trait]
impl BlobStore for S3Store {
    async fn create(&self, path: &str, _length: Option<u64>) -> Result<Box<dyn BlobWriter>, BlobError> {
        let upload = self.store.put_multipart(&self.key(path)).await?;
        Ok(Box::new(S3Writer(WriteMultipart::new_with_chunk_size(upload, UPLOAD_PART_BYTES))))
    }

    fn upload_bucket(&self) -> Option<&Self> {
        Some(self)
    }

    async fn local_file(&self, path: &str) -> Result<LocalFile, BlobError> {
        let found = self.store.get(&self.key(path)).await?;
        let mut copy = self.scratch.writer(Some(found.meta.size))?;
        let mut bytes = found.into_stream();
        while let Some(part) = bytes.next().await {
            copy.write(&part?).await?;
        }
        Ok(LocalFile::Temporary(copy.finish().await?))
    }

    async fn length(&self, path: &str) -> Result<u64, BlobError> {
        Ok(ObjectStoreExt::head(&self.store, &self.key(path)).await?.size)
    }

    async fn read_range(&self, path: &str, range: Range<u64>) -> Result<ByteStream, BlobError> {
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let found = self.store.get_opts(&self.key(path), options).await?;
        Ok(found.into_stream().map(|part| part.map_err(BlobError::from)).boxed())
    }

    async fn remove(&self, path: &str) -> Result<(), BlobError> {
        match self.store.delete(&self.key(path)).await.map_err(BlobError::from) {
            Ok(()) | Err(BlobError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A file that is being sent to the bucket, at most two parts of it in memory.
struct S3Writer(WriteMultipart);

#[async_trait]
impl BlobWriter for S3Writer {
    async fn write(&mut self, part: Bytes) -> Result<(), BlobError> {
        // Waits while a part is being sent. Otherwise a fast caller would fill the memory with parts.
        self.0.wait_for_capacity(1).await?;
        self.0.put(part);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<(), BlobError> {
        self.0.finish().await?;
        Ok(())
    }

    async fn abort(self: Box<Self>) {
        // If this fails, the lifecycle rules of the bucket remove the parts.
        let _ = self.0.abort().await;
    }
}
