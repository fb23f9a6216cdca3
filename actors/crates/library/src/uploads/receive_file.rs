//! Stores a file of this machine as the bytes of an upload, as if a client had sent them.

use std::path::Path;

use disk::DiskSpace;
use entity::upload::Model;
use errors::Error;
use storage::blobs::{BlobError, PART_BYTES, incoming_path};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::receive::{PutRequest, UploadReceiver};
use super::upload_store::Uploads;
use crate::context::CoreContext;

/// Stores a file as the bytes of an announced upload. With a bucket the file goes there, to where a client would send it.
///
/// # Errors
/// The errors of [`UploadReceiver::begin`] and of the store.
pub async fn receive_file(
    core: &CoreContext,
    uploads: &Uploads,
    disk: &DiskSpace,
    upload: &Model,
    file: &Path,
) -> Result<(), Error> {
    if let Some(bucket) = uploads.store.upload_bucket() {
        return Ok(bucket.put_file(&incoming_path(upload.id), &upload.content_type, file).await?);
    }
    let request = PutRequest {
        upload: upload.id,
        expires_at: upload.expires_at,
        signature: uploads.url_signer.sign(upload.id, upload.expires_at),
        content_type: Some(upload.content_type.clone()),
        content_length: None,
    };
    let mut receiver = UploadReceiver::begin(core, uploads, disk, &request).await?;
    match copy(file, &mut receiver).await {
        Ok(()) => receiver.finish().await,
        Err(error) => {
            receiver.abort().await;
            Err(error)
        }
    }
}

async fn copy(file: &Path, receiver: &mut UploadReceiver) -> Result<(), Error> {
    let mut file = File::open(file).await.map_err(BlobError::from)?;
    let mut part = vec![0; PART_BYTES];
    loop {
        let read = file.read(&mut part).await.map_err(BlobError::from)?;
        match part.get(..read).filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => receiver.write(bytes).await?,
            None => return Ok(()),
        }
    }
}
