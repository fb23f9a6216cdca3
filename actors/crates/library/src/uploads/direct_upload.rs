//! Uploads that a client sends to the store directly.

use entity::upload::Model;
use storage::blobs::{BlobError, ReceivedObject, incoming_path};

use super::media::MediaType;
use super::upload_store::Uploads;

/// Returns the object that a client sent to the store directly for this upload; `None` if this server receives the bytes, if
/// nothing has arrived, or if the object has another length or media type than announced.
///
/// # Errors
/// [`BlobError`] when the store fails.
pub async fn find_direct_upload(
    uploads: &Uploads,
    upload: &Model,
) -> Result<Option<ReceivedObject>, BlobError> {
    let Some(bucket) = uploads.store.upload_bucket() else { return Ok(None) };
    let received = bucket.head(&incoming_path(upload.id)).await?;
    // A presigned URL does not bind the length of what is sent (contract.md, section 11: Uploads).
    Ok(received.filter(|received| {
        let declared = received.content_type.as_deref().and_then(MediaType::parse);
        u64::try_from(upload.bytes) == Ok(received.bytes)
            && declared == MediaType::parse(&upload.content_type)
    }))
}
