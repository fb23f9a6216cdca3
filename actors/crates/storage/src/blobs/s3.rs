//! Files in a bucket that speaks S3. Clients send bytes to it themselves, by an address that is signed for one file and
//! its type; what arrived is looked at afterwards.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use disk::Scratch;
use futures_util::StreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Key;
use object_store::signer::{HeaderName, HeaderValue, Method, SignedUrlOptions, Signer};
use object_store::{Attribute, GetOptions, GetResult, ObjectStore, ObjectStoreExt, WriteMultipart};
use sha2::{Digest, Sha256};
use text::hexadecimal;
use tokio_util::bytes::Bytes;
use url::Url;

use super::{Arrived, BlobError, Blobs, Direct, LocalFile, Writing};

/// Where the bucket is, and who may use it. What is left out is looked for in the environment (`AWS_ACCESS_KEY_ID` and
/// its kin) and in the machine's own credentials.
#[derive(Clone)]
pub struct BucketSettings {
    /// `s3://BUCKET/PREFIX`.
    pub url: String,
    /// Of a store that is not Amazon's.
    pub endpoint: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// Who signs.
    pub access_key: Option<String>,
    /// With what.
    pub secret_key: Option<String>,
}

impl fmt::Debug for BucketSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketSettings").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// Bytes of a part that this service sends: stores take at most 10,000 of a file, and none that are far shorter.
const SENT: usize = 32 << 20;

/// See the file's head.
#[derive(Debug)]
pub struct Bucket {
    store: AmazonS3,
    prefix: String,
    scratch: Scratch,
}

impl Bucket {
    /// Nothing is asked of the bucket yet.
    ///
    /// # Errors
    /// The address names no bucket, or the credentials are half there.
    pub fn open(settings: BucketSettings, scratch: Scratch) -> Result<Self, BlobError> {
        // Whoever comes first installs it; it is the same one everywhere.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = Url::parse(&settings.url).map_err(|error| BlobError::Failed(Box::new(error)))?;
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(url.host_str().unwrap_or_default())
            // One object a request: some stores know no other way.
            .with_disable_bulk_delete(true);
        if let Some(endpoint) = settings.endpoint {
            builder = builder.with_allow_http(endpoint.starts_with("http://")).with_endpoint(endpoint);
        }
        if let Some(region) = settings.region {
            builder = builder.with_region(region);
        }
        if let Some(key) = settings.access_key {
            builder = builder.with_access_key_id(key);
        }
        if let Some(secret) = settings.secret_key {
            builder = builder.with_secret_access_key(secret);
        }
        Ok(Self { store: builder.build()?, prefix: url.path().trim_matches('/').to_owned(), scratch })
    }

    fn key(&self, path: &str) -> Key {
        Key::from(format!("{}/{path}", self.prefix))
    }
}

#[async_trait]
impl Blobs for Bucket {
    async fn create(&self, path: &str, _length: Option<u64>) -> Result<Box<dyn Writing>, BlobError> {
        let upload = self.store.put_multipart(&self.key(path)).await?;
        Ok(Box::new(Sending(WriteMultipart::new_with_chunk_size(upload, SENT))))
    }

    fn direct(&self) -> Option<&dyn Direct> {
        Some(self)
    }

    async fn local(&self, path: &str) -> Result<LocalFile, BlobError> {
        let found = self.store.get(&self.key(path)).await?;
        let mut copy = self.scratch.writer(Some(found.meta.size))?;
        let mut bytes = found.into_stream();
        while let Some(some) = bytes.next().await {
            copy.write(&some?).await?;
        }
        Ok(LocalFile::Copied(copy.finish().await?))
    }

    async fn remove(&self, path: &str) -> Result<(), BlobError> {
        match self.store.delete(&self.key(path)).await.map_err(BlobError::from) {
            Ok(()) | Err(BlobError::Missing) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A file on its way to the bucket, a part or two of it in memory.
struct Sending(WriteMultipart);

#[async_trait]
impl Writing for Sending {
    async fn write(&mut self, part: Bytes) -> Result<(), BlobError> {
        self.0.wait_for_capacity(1).await?;
        self.0.put(part);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<(), BlobError> {
        self.0.finish().await?;
        Ok(())
    }

    async fn abort(self: Box<Self>) {
        // A store forgets parts that were never put together, as its owner set it.
        let _ = self.0.abort().await;
    }
}

#[async_trait]
impl Direct for Bucket {
    async fn put_address(
        &self,
        path: &str,
        content_type: &str,
        valid: Duration,
    ) -> Result<String, BlobError> {
        let content_type =
            HeaderValue::from_str(content_type).map_err(|error| BlobError::Failed(Box::new(error)))?;
        let kind = HeaderName::from_static("content-type");
        let options = SignedUrlOptions::new().with_signed_header(kind, content_type);
        Ok(self.store.signed_url_opts(Method::PUT, &self.key(path), valid, &options).await?.into())
    }

    async fn arrived(&self, path: &str) -> Result<Option<Arrived>, BlobError> {
        let head = GetOptions { head: true, ..GetOptions::default() };
        let found: GetResult = match self.store.get_opts(&self.key(path), head).await.map_err(BlobError::from)
        {
            Ok(found) => found,
            Err(BlobError::Missing) => return Ok(None),
            Err(error) => return Err(error),
        };
        let content_type = found.attributes.get(&Attribute::ContentType).map(|value| value.to_string());
        Ok(Some(Arrived { bytes: found.meta.size, content_type }))
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), BlobError> {
        Ok(self.store.copy(&self.key(from), &self.key(to)).await?)
    }

    async fn sha256(&self, path: &str) -> Result<String, BlobError> {
        let mut bytes = self.store.get(&self.key(path)).await?.into_stream();
        let mut digest = Sha256::new();
        while let Some(some) = bytes.next().await {
            digest.update(&some?);
        }
        Ok(hexadecimal(&digest.finalize()))
    }
}
