//! Completes uploads: creates the document, the bookmark and the job in one transaction, once, however often it is requested.

use database::Transaction;
use entity::upload::{Column, Entity, Model};
use entity::{bookmark, document, user};
use jobs::{JobKind, Priority};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use storage::blobs::{S3Store, incoming_path};
use values::id::{BookmarkId, DocumentId, UploadId};
use values::kind::{BookmarkKind, ContentType};
use values::time::Timestamp;
use web::PageUrl;

use super::announce::{last_arrival, upload_storage_full};
use super::direct_upload::find_direct_upload;
use super::media::MediaType;
use super::upload_store::Uploads;
use super::usage::stored_bytes;
use crate::context::CoreContext;
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::{RequestOwner, begin_request};
use crate::stored_files::{self, FileLease};
use errors::{Error, UploadFault};

/// The rows that a completed upload became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletedUpload {
    /// The upload, which stays as the record of the file.
    pub upload: UploadId,
    /// The document that holds the text once it is extracted.
    pub document: DocumentId,
    /// The bookmark of the kind `upload` under which the user finds the file.
    pub bookmark: BookmarkId,
}

impl CompletedUpload {
    fn from_row(row: &Model) -> Option<Self> {
        row.completed_at?;
        Some(Self { upload: row.id, document: row.document_id?, bookmark: row.bookmark_id? })
    }
}

/// An upload to be completed.
#[derive(Clone, Debug)]
pub struct UploadCompletion {
    /// The upload to complete; it must belong to the caller.
    pub upload: UploadId,
    /// Expected SHA-256 of the bytes in lower-case hexadecimal digits, if the client sent it.
    pub sha256: Option<String>,
}

impl UploadCompletion {
    /// Refuses bytes with this SHA-256 if the client expects another one. Nothing is compared if either is unknown.
    fn require_sha256(&self, arrived: Option<&String>) -> Result<(), UploadFault> {
        match self.sha256.as_ref().zip(arrived).filter(|(expected, arrived)| expected != arrived) {
            Some((expected, arrived)) => {
                Err(UploadFault::OtherSha256 { arrived: arrived.clone(), expected: expected.clone() })
            }
            None => Ok(()),
        }
    }
}

/// A copy of a directly sent file, which the client can no longer change.
struct FileCopy {
    lease: FileLease,
    sha256: Option<String>,
}

/// Completes an upload whose bytes have arrived completely. Repeated calls return the same result. The caller
/// notifies the job signal afterwards.
///
/// # Errors
/// [`Error::NotFound`] when the upload does not exist or belongs to another user; [`Error::UploadIncomplete`] before
/// the bytes have arrived, and when their length or SHA-256 differs; [`Error::UploadExpired`] when none arrived in
/// time; [`Error::LibraryFull`]: the upload can be completed later, once there is space; [`Error::Internal`] when the
/// database or the store fails.
pub async fn complete(
    core: &CoreContext,
    uploads: &Uploads,
    owner: &RequestOwner,
    completion: UploadCompletion,
) -> Result<CompletedUpload, Error> {
    let row = Entity::one_of(owner.user, completion.upload).one(core.db.read()).await?;
    let row = row.ok_or(Error::not_found())?;
    // A completed upload is not copied again: a repeated call only returns the first result.
    let bucket = uploads.store.upload_bucket().filter(|_| row.completed_at.is_none());
    let Some(bucket) = bucket else { return complete_once(core, owner, &completion, None).await };
    // Outside of the transaction: the copy of a large file takes longer than a transaction may hold its locks.
    let copy = copy_direct_upload(core, uploads, bucket, &row, &completion).await?;
    let completed = complete_once(core, owner, &completion, Some(&copy)).await;
    // A copy that was assigned to the upload stays. It is deleted if another request completed the upload at the same time.
    stored_files::discard(core, &*uploads.store, copy.lease).await;
    completed
}

/// Copies a directly sent file to a path that the client cannot write to, then checks the copy.
async fn copy_direct_upload(
    core: &CoreContext,
    uploads: &Uploads,
    bucket: &S3Store,
    row: &Model,
    completion: &UploadCompletion,
) -> Result<FileCopy, Error> {
    if find_direct_upload(uploads, row).await?.is_none() {
        return Err(not_arrived(core, row));
    }
    let lease = stored_files::lease(core, None).await?;
    let checked = async {
        bucket.copy(&incoming_path(row.id), &lease.path).await?;
        let arrived = bucket.head(&lease.path).await?.map(|object| object.bytes);
        let sha256 = match &completion.sha256 {
            // Only on request: the server has to read the whole object from the bucket for it.
            Some(_) => Some(bucket.sha256(&lease.path).await?),
            None => None,
        };
        // The client may have replaced the file between the first check and the copy.
        require_length(announced_bytes(row), arrived)?;
        Ok::<_, Error>(sha256)
    };
    match checked.await {
        Ok(sha256) => Ok(FileCopy { lease, sha256 }),
        Err(error) => {
            stored_files::discard(core, &*uploads.store, lease).await;
            Err(error)
        }
    }
}

fn not_arrived(core: &CoreContext, row: &Model) -> Error {
    if row.accepts_bytes(core.clock.now()) {
        UploadFault::NotArrived { announced: announced_bytes(row) }.into()
    } else {
        Error::UploadExpired
    }
}

fn announced_bytes(row: &Model) -> u64 {
    u64::try_from(row.bytes).unwrap_or(u64::MAX)
}

/// Refuses a copy of another length than announced; `None` if there is no copy.
fn require_length(announced: u64, arrived: Option<u64>) -> Result<(), UploadFault> {
    match arrived {
        Some(arrived) if arrived == announced => Ok(()),
        Some(arrived) => Err(UploadFault::OtherLength { arrived, announced }),
        None => Err(UploadFault::NotArrived { announced }),
    }
}

/// Completes the upload in one transaction, or returns what an earlier call made of it.
async fn complete_once(
    core: &CoreContext,
    owner: &RequestOwner,
    completion: &UploadCompletion,
    copy: Option<&FileCopy>,
) -> Result<CompletedUpload, Error> {
    let now = core.clock.now();
    let txn = begin_request(&core.db, owner).await?;
    // Locked, so that concurrent announcements and completions count each other's bytes. Lock order: user before upload.
    user::Entity::find_by_id(owner.user).lock_exclusive().one(&txn).await?.ok_or(Error::not_found())?;
    let locked = Entity::one_of(owner.user, completion.upload).lock_exclusive().one(&txn).await?;
    let row = locked.ok_or(Error::not_found())?;
    // Under the lock: of concurrent calls the first creates the bookmark, and the others return it.
    if let Some(completed) = CompletedUpload::from_row(&row) {
        completion.require_sha256(row.sha256.as_ref())?;
        return Ok(completed);
    }
    let sha256 = match copy {
        Some(copy) => copy.sha256.clone(),
        None if row.arrived_at.is_none() => return Err(not_arrived(core, &row)),
        None => row.sha256.clone(),
    };
    completion.require_sha256(sha256.as_ref())?;
    if let Some(copy) = copy {
        assign_copy(core, &txn, owner, &row, copy, now).await?;
    }
    let room = LibraryRoom::of_owner(&txn, core, owner.user).await?;
    let completed = insert_rows(core, &txn, &row, sha256, now).await?;
    // A full library rolls everything back; the bytes stay with the upload, which can be completed once there is space.
    room.must_hold(&txn).await?;
    txn.commit().await?;
    Ok(completed)
}

/// Assigns the copy to the upload. The file that the client sent is kept until nothing more can arrive at its path.
async fn assign_copy(
    core: &CoreContext,
    txn: &Transaction,
    owner: &RequestOwner,
    row: &Model,
    copy: &FileCopy,
    now: Timestamp,
) -> Result<(), Error> {
    let bytes = announced_bytes(row);
    let limit = core.plans.limits(owner.plan).stored_bytes;
    // An expired upload does not count until it is known that its bytes arrived, so they are counted now.
    if now >= row.expires_at && stored_bytes(txn, owner.user, now).await?.saturating_add(bytes) > limit {
        return Err(upload_storage_full(limit));
    }
    if stored_files::assign_to_upload(txn, copy.lease.id, row.id, last_arrival(row)).await? {
        Ok(())
    } else {
        Err(Error::internal("a file was removed while it was copied"))
    }
}

async fn insert_rows(
    core: &CoreContext,
    txn: &impl ConnectionTrait,
    row: &Model,
    sha256: Option<String>,
    now: Timestamp,
) -> Result<CompletedUpload, Error> {
    let (document, bookmark) = new_rows(core, row, now)?;
    let completed = CompletedUpload { upload: row.id, document: document.id, bookmark: bookmark.id };
    let kind = JobKind::of_file(document.content_type);
    document::Entity::insert(document.into_active_model()).exec_without_returning(txn).await?;
    bookmark::Entity::insert(bookmark.into_active_model()).exec_without_returning(txn).await?;
    Entity::update_owned(row.user_id)
        .col_expr(Column::CompletedAt, Expr::value(Some(now)))
        .col_expr(Column::Sha256, Expr::value(sha256))
        .col_expr(Column::DocumentId, Expr::value(Some(completed.document)))
        .col_expr(Column::BookmarkId, Expr::value(Some(completed.bookmark)))
        .filter(Column::Id.eq(row.id))
        .exec(txn)
        .await?;
    jobs::enqueue(txn, row.user_id, kind, completed.document.0, Priority::Now, now).await?;
    Ok(completed)
}

fn new_rows(
    core: &CoreContext,
    row: &Model,
    now: Timestamp,
) -> Result<(document::Model, bookmark::Model), Error> {
    let bookmark_id = BookmarkId::new(now);
    let content_type = MediaType::parse(&row.content_type).and_then(|kind| kind.content_type());
    let document = document::Model {
        bookmark_id: Some(bookmark_id),
        ..document::Model::pending(
            row.user_id,
            // The type was checked when the upload was announced.
            content_type.unwrap_or(ContentType::Pdf),
            row.filename.clone(),
            now,
        )
    };
    // An upload has no URL on the web. Its bookmark gets the URL of the document in the web app, which no other bookmark has,
    // because it contains the id of the document.
    let url = core.url_of(&document);
    let bookmark = bookmark::Model {
        id: bookmark_id,
        user_id: row.user_id,
        document_id: document.id,
        kind: BookmarkKind::Upload,
        content_type: document.content_type,
        normalized_url: PageUrl::parse(&url).map_err(Error::internal)?.normalized(),
        title: document.title.clone(),
        url,
        favorite: false,
        archived: false,
        progress: 0.0,
        saved_at: now,
        created_at: now,
        updated_at: now,
        deleted_at: None,
    };
    Ok((document, bookmark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_of_another_length_is_refused_with_both_lengths() {
        assert_eq!(require_length(9, Some(9)), Ok(()));
        assert_eq!(require_length(9, Some(7)), Err(UploadFault::OtherLength { arrived: 7, announced: 9 }));
        assert_eq!(require_length(9, None), Err(UploadFault::NotArrived { announced: 9 }));
    }
}
