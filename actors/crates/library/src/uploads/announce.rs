//! Announces uploads: checks the plan's limits, and returns the URL to which the file is sent.

use std::time::Duration;

use entity::upload::{Entity, Model};
use entity::{stored_file, user};
use sea_orm::{EntityTrait, IntoActiveModel, QuerySelect};
use storage::blobs::incoming_path;
use values::id::{FileId, UploadId, UserId};
use values::time::Timestamp;

use super::media::MediaType;
use super::upload_store::Uploads;
use super::usage::stored_bytes;
use crate::context::CoreContext;
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::{RequestOwner, begin_request};
use errors::Error;

/// Maximum time that a client may take to send a file to a presigned URL, after the last moment at which it could begin.
const MAX_SEND_DURATION: Duration = Duration::from_secs(6 * 3600);

/// A file to be uploaded.
#[derive(Clone, Debug)]
pub struct NewUpload {
    /// Name that the user gave the file; it is not part of any path.
    pub filename: String,
    /// Media type that the client declares, such as `application/pdf`; the bytes must be sent with the same one.
    pub content_type: String,
    /// Length in bytes, at least 1.
    pub bytes: u64,
}

/// An announced upload with its URL.
#[derive(Clone, Debug)]
pub struct UploadTicket {
    /// The upload's row, which waits for its bytes.
    pub upload: Model,
    /// URL that accepts the bytes by PUT, without an API key. It is a secret: anyone who has it may send the file.
    pub put_url: String,
}

/// Announces an upload: checks the limits of the plan, creates the upload's row, and returns the URL for its bytes.
///
/// # Errors
/// [`Error::PlanRequired`], [`Error::TooLarge`], [`Error::PlanLimit`] and [`Error::LibraryFull`] when the plan does not allow it;
/// [`Error::UnsupportedType`] for a media type that is not supported; [`Error::Internal`] when the database or the store fails.
pub async fn announce(
    core: &CoreContext,
    uploads: &Uploads,
    owner: &RequestOwner,
    new: NewUpload,
) -> Result<UploadTicket, Error> {
    let (user, limits) = (owner.user, core.plans.limits(owner.plan));
    if limits.upload_bytes == 0 {
        return Err(Error::PlanRequired("uploads".into()));
    }
    if new.bytes > limits.upload_bytes {
        return Err(too_large(limits.upload_bytes));
    }
    if MediaType::parse(&new.content_type).and_then(|kind| kind.content_type()).is_none() {
        return Err(Error::UnsupportedType("contentType must be the type of an audio, video or PDF file"));
    }
    let now = core.clock.now();
    let row = new_row(uploads, user, new, limits.upload_bytes, now)?;
    let txn = begin_request(&core.db, owner).await?;
    // Locked, so that of two concurrent announcements the second counts the first.
    user::Entity::find_by_id(user).lock_exclusive().one(&txn).await?.ok_or(Error::not_found())?;
    // A full library is reported now, before the client sends the file in vain.
    let room = LibraryRoom::of_owner(&txn, core, user).await?;
    room.must_fit(0)?;
    let announced = u64::try_from(row.bytes).unwrap_or(u64::MAX);
    if stored_bytes(&txn, user, now).await?.saturating_add(announced) > limits.stored_bytes {
        return Err(upload_storage_full(limits.stored_bytes));
    }
    Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
    // With a bucket the client writes the object itself, at any time from now on, so the object needs its row already. With a
    // folder the row is created when the bytes begin to arrive.
    if uploads.store.upload_bucket().is_some() {
        let file = incoming_file(&row);
        stored_file::Entity::insert(file.into_active_model()).exec_without_returning(&txn).await?;
    }
    room.must_hold(&txn).await?;
    txn.commit().await?;
    // After the commit, so that no URL is handed out for an upload that was rolled back.
    let put_url = put_url(core, uploads, &row).await?;
    Ok(UploadTicket { upload: row, put_url })
}

fn too_large(limit: u64) -> Error {
    Error::TooLarge { what: "the file", limit }
}

/// The error when the uploads of an account would exceed the plan.
pub(super) fn upload_storage_full(limit: u64) -> Error {
    Error::PlanLimit(format!(
        "the plan allows {limit} bytes of uploads at one time; delete uploaded items first"
    ))
}

fn new_row(
    uploads: &Uploads,
    user: UserId,
    new: NewUpload,
    max_bytes: u64,
    now: Timestamp,
) -> Result<Model, Error> {
    Ok(Model {
        id: UploadId::new(now),
        user_id: user,
        filename: new.filename,
        content_type: new.content_type.trim().to_owned(),
        bytes: i64::try_from(new.bytes).map_err(|_| too_large(max_bytes))?,
        created_at: now,
        expires_at: now + uploads.put_url_lifetime,
        receiving_until: Timestamp::from_millis(0),
        arrived_at: None,
        sha256: None,
        completed_at: None,
        document_id: None,
        bookmark_id: None,
    })
}

/// Returns the row of the object that a client sends to a presigned URL. The store does not report its arrival, so the row is
/// kept as long as the object may arrive.
fn incoming_file(row: &Model) -> stored_file::Model {
    stored_file::Model {
        id: FileId::new(row.created_at),
        upload_id: Some(row.id),
        import_id: None,
        export_id: None,
        document_id: None,
        user_id: None,
        bytes: 0,
        path: incoming_path(row.id),
        keep_until: last_arrival(row),
        is_being_deleted: false,
    }
}

/// Returns the time after which nothing more arrives for an upload.
pub(super) fn last_arrival(row: &Model) -> Timestamp {
    row.expires_at + MAX_SEND_DURATION
}

/// Returns a newly signed URL of an announced upload.
///
/// # Errors
/// [`Error::Internal`] when the store cannot sign it.
pub async fn put_url(core: &CoreContext, uploads: &Uploads, row: &Model) -> Result<String, Error> {
    if let Some(bucket) = uploads.store.upload_bucket() {
        // The replay of a stored response signs the URL again (contract.md, section 11: Idempotency), maybe after it has expired.
        let lifetime = row.expires_at.since(core.clock.now()).max(Duration::from_secs(1));
        return Ok(bucket.presign_put(&incoming_path(row.id), &row.content_type, lifetime).await?);
    }
    let (id, expires_at) = (row.id, row.expires_at);
    let signature = uploads.url_signer.sign(id, expires_at);
    Ok(format!("{}/files/{id}?expires={}&signature={signature}", core.base_url, expires_at.millis()))
}
