//! Files in a bucket that speaks S3. Clients send the bytes of uploads to the bucket themselves, to a URL that is signed for one
//! path and content type. What arrived is checked afterwards.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use disk::Scratch;
use futures_util::StreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Key;
use object_store::signer::{HeaderName, HeaderValue, Method, SignedUrlOptions, Signer};
use object_store::{
    Attribute, Attributes, GetOptions, GetResult, ObjectStore, ObjectStoreExt, PutMultipartOptions,
    WriteMultipart,
};
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use url::Url;

use super::blob_error::BlobError;

/// Size of the parts of a multipart upload. S3 takes at most 10,000 parts of a file, none but the last below 5 MiB, so a file may have
/// 312 GiB.
pub(super) const UPLOAD_PART_BYTES: usize = 32 << 20;
/// Bytes that are read from a file of this machine at a time.
const READ_BYTES: usize = 1 << 20;

/// Where the bucket is, and the credentials for it. What is `None` is looked up in the environment (`AWS_ACCESS_KEY_ID` and so on)
/// and in the credentials of the machine (instance metadata).
#[derive(Clone)]
pub struct S3Settings {
    /// The bucket, and the prefix of all keys: `s3://BUCKET/PREFIX`.
    pub url: String,
    /// URL of a store that is not Amazon's; plain HTTP only if it begins with `http://`.
    pub endpoint: Option<String>,
    /// Region of the bucket, which requests are signed for.
    pub region: Option<String>,
    /// Id of the access key that signs requests.
    pub access_key: Option<String>,
    /// Secret of that access key; never logged.
    pub secret_key: Option<String>,
}

impl fmt::Debug for S3Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Settings").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

/// An object that a client sent to a presigned URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedObject {
    /// Length in bytes, as the store counts it.
    pub bytes: u64,
    /// The content type that the client declared.
    pub content_type: Option<String>,
}

/// A store in a bucket that speaks S3.
#[derive(Debug)]
pub struct S3Store {
    pub(super) store: AmazonS3,
    prefix: String,
    pub(super) scratch: Scratch,
}

impl S3Store {
    /// Makes a client of the bucket; sends no request yet. Copies for
    /// [`BlobStore::local_file`](super::BlobStore::local_file) go to `scratch`.
    ///
    /// # Errors
    /// [`BlobError::Failed`] when the URL names no bucket or the credentials are incomplete.
    pub fn open(settings: S3Settings, scratch: Scratch) -> Result<Self, BlobError> {
        let (builder, prefix) = Self::builder(settings)?;
        Ok(Self { store: builder.build()?, prefix, scratch })
    }

    /// Returns what makes the client, and the prefix of all keys.
    pub(super) fn builder(settings: S3Settings) -> Result<(AmazonS3Builder, String), BlobError> {
        // The HTTP client of the bucket comes with object_store, which expects a provider.
        web::install_crypto_provider();
        let url = Url::parse(&settings.url).map_err(|error| BlobError::Failed(Box::new(error)))?;
        // The environment first, so that the settings replace its values one by one.
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(url.host_str().unwrap_or_default())
            // Some stores do not know the request that deletes many objects.
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
        Ok((builder, url.path().trim_matches('/').to_owned()))
    }

    /// Returns a URL to which a client may PUT bytes of this content type for the time `valid`.
    ///
    /// # Errors
    /// Any [`BlobError`], as when there are no credentials to sign with.
    pub async fn presign_put(
        &self,
        path: &str,
        content_type: &str,
        valid: Duration,
    ) -> Result<String, BlobError> {
        let content_type =
            HeaderValue::from_str(content_type).map_err(|error| BlobError::Failed(Box::new(error)))?;
        // The header is signed too, so the bucket refuses an upload of another type.
        let name = HeaderName::from_static("content-type");
        let options = SignedUrlOptions::new().with_signed_header(name, content_type);
        Ok(self.store.signed_url_opts(Method::PUT, &self.key(path), valid, &options).await?.into())
    }

    /// Returns what is at a path by now; `None` when there is nothing.
    ///
    /// # Errors
    /// Any [`BlobError`] other than [`BlobError::Missing`].
    pub async fn head(&self, path: &str) -> Result<Option<ReceivedObject>, BlobError> {
        // `ObjectStore::head` does not return the content type; a request for nothing but the head of the object does.
        let head = GetOptions { head: true, ..GetOptions::default() };
        let found: GetResult = match self.store.get_opts(&self.key(path), head).await.map_err(BlobError::from)
        {
            Ok(found) => found,
            Err(BlobError::Missing) => return Ok(None),
            Err(error) => return Err(error),
        };
        let content_type = found.attributes.get(&Attribute::ContentType).map(|value| value.to_string());
        Ok(Some(ReceivedObject { bytes: found.meta.size, content_type }))
    }

    /// Writes a file of this machine to the bucket, as an object with this content type.
    ///
    /// # Errors
    /// Any [`BlobError`]; the object does not exist then.
    pub async fn put_file(&self, path: &str, content_type: &str, file: &Path) -> Result<(), BlobError> {
        let attributes = Attributes::from_iter([(Attribute::ContentType, content_type.to_owned())]);
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let upload = self.store.put_multipart_opts(&self.key(path), options).await?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, UPLOAD_PART_BYTES);
        match write_file(&mut writer, file).await {
            Ok(()) => Ok(writer.finish().await.map(drop)?),
            Err(error) => {
                // If this fails, the lifecycle rules of the bucket remove the parts.
                let _ = writer.abort().await;
                Err(error)
            }
        }
    }

    /// Copies an object within the bucket.
    ///
    /// # Errors
    /// Any [`BlobError`]; there is no copy then.
    pub async fn copy(&self, from: &str, to: &str) -> Result<(), BlobError> {
        Ok(self.store.copy(&self.key(from), &self.key(to)).await?)
    }

    /// Reads an object and returns the SHA-256 of its bytes as hexadecimal digits.
    ///
    /// # Errors
    /// Any [`BlobError`]: the object was not read to its end.
    pub async fn sha256(&self, path: &str) -> Result<String, BlobError> {
        let mut bytes = self.store.get(&self.key(path)).await?.into_stream();
        // The bytes are read, because the ETag of an object is not its SHA-256.
        let mut digest = Sha256::new();
        while let Some(part) = bytes.next().await {
            digest.update(&part?);
        }
        Ok(base16ct::lower::encode_string(&digest.finalize()))
    }

    pub(super) fn key(&self, path: &str) -> Key {
        object_key(&self.prefix, path)
    }
}

async fn write_file(writer: &mut WriteMultipart, file: &Path) -> Result<(), BlobError> {
    let mut file = tokio::fs::File::open(file).await?;
    loop {
        let mut part = Vec::with_capacity(READ_BYTES);
        if (&mut file).take(READ_BYTES as u64).read_to_end(&mut part).await? == 0 {
            return Ok(());
        }
        writer.wait_for_capacity(1).await?;
        writer.put(part.into());
    }
}

/// Returns the key of a path in a bucket.
pub(super) fn object_key(prefix: &str, path: &str) -> Key {
    Key::from(format!("{prefix}/{path}"))
}
