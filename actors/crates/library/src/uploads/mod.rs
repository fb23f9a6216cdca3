//! Uploads: a client announces a file, sends it to a signed URL and completes the upload, which makes a bookmark of it.
//!
//! An upload has a row from its announcement on. Its bytes are a file of the store ([`crate::stored_files`]). Either this service
//! receives them ([`UploadReceiver`]), or the client sends them to the store directly, and they are checked when the upload is
//! completed ([`complete()`]). Completion creates the document, the bookmark and the job that extracts the text in one
//! transaction, once.

mod announce;
mod complete;
mod media;
mod receive;
mod receive_locks;
mod receive_slots;
mod sweep;
mod url_signer;

use std::sync::Arc;
use std::time::Duration;

use disk::Scratch;
use entity::upload::{Column, Entity, Model};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, QueryFilter, QuerySelect};
use storage::blobs::{BlobError, BlobStore, ReceivedObject, incoming_path};
use values::id::UserId;
use values::time::Timestamp;

pub use announce::{NewUpload, UploadTicket, announce, put_url};
pub use complete::{CompletedUpload, UploadCompletion, complete};
pub use media::MediaType;
pub use receive::{PutRequest, UploadReceiver};
pub use receive_locks::{ReceiveLock, ReceiveLocks};
pub use receive_slots::ReceiveSlots;
pub use sweep::sweep;
pub use url_signer::UrlSigner;

use errors::Error;

/// Where uploaded files are stored, and how they get there. Clones share everything.
#[derive(Clone)]
pub struct Uploads {
    /// The store that holds the files: a folder, or a bucket to which clients send their bytes directly.
    pub store: Arc<dyn BlobStore>,
    /// Folder for temporary files, such as bodies of requests and pages that are fetched.
    pub scratch: Scratch,
    /// Signs the upload URLs of this service. A bucket signs its own.
    pub url_signer: UrlSigner,
    /// Lifetime of an upload URL (`uploads.put_seconds`).
    pub put_url_lifetime: Duration,
    /// Maximum length of the file of an import, in bytes (`uploads.import_bytes`).
    pub import_bytes: u64,
    /// Locks of the uploads that receive bytes.
    pub receive_locks: ReceiveLocks,
    /// Bounds how many uploads of an account receive bytes at the same time.
    pub receive_slots: ReceiveSlots,
}

/// Returns the bytes that a user's uploads take up or may still take up: those of completed uploads, of uploads whose bytes have
/// arrived or are arriving, and of announced uploads whose URL is still valid.
pub async fn stored_bytes(db: &impl ConnectionTrait, user: UserId, now: Timestamp) -> Result<u64, Error> {
    // On PostgreSQL the sum of a BIGINT column is a NUMERIC, which does not decode as i64.
    let sum = Expr::cust("CAST(COALESCE(SUM(upload.bytes), 0) AS BIGINT)");
    let counted = Entity::owned_by(user).filter(is_counted(now)).select_only().column_as(sum, "sum");
    let sum: Option<i64> = counted.into_tuple().one(db).await?;
    Ok(sum.and_then(|sum| u64::try_from(sum).ok()).unwrap_or_default())
}

fn is_counted(now: Timestamp) -> Condition {
    Condition::any()
        .add(Column::CompletedAt.is_not_null())
        .add(Column::ArrivedAt.is_not_null())
        // A transfer that began in time may last longer than the URL is valid.
        .add(Column::ReceivingUntil.gt(now))
        .add(Column::ExpiresAt.gt(now))
}

/// Returns the object that a client sent to the store directly for this upload; `None` if this service receives the bytes, if
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
