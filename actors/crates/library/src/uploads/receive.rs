//! Receives the bytes of uploads where this server does that: it writes them as they arrive, without holding the file in memory,
//! and assigns the file to its upload once it is complete and on disk. A second file that arrives before completion replaces
//! the first. A request that breaks off changes nothing and leaves nothing behind.

use std::borrow::Cow;

use database::on_behalf_of;
use disk::DiskSpace;
use entity::upload::{Column, Entity, Model};
use errors::Error;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use sha2::{Digest, Sha256};
use storage::blobs::{BlobError, BlobWriter, PART_BYTES};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio_util::bytes::Bytes;
use values::id::UploadId;
use values::time::Timestamp;

use super::media::MediaType;
use super::receive_locks::ReceiveLock;
use super::upload_store::Uploads;
use crate::context::CoreContext;
use crate::owned_transaction::begin_owned;
use crate::stored_files::{self, FileLease};

/// A PUT request to the URL of an upload.
#[derive(Clone, Debug)]
pub struct PutRequest {
    /// The upload that the URL names.
    pub upload: UploadId,
    /// When the URL expires, as it says.
    pub expires_at: Timestamp,
    /// The signature in the URL.
    pub signature: String,
    /// Media type of the body, if the request declares it.
    pub content_type: Option<String>,
    /// Length of the body in bytes, if the request declares it.
    pub content_length: Option<u64>,
}

/// Receives the bytes of one upload.
pub struct UploadReceiver {
    core: CoreContext,
    uploads: Uploads,
    upload: Model,
    announced_bytes: u64,
    lease: FileLease,
    blob: Box<dyn BlobWriter>,
    part: Vec<u8>,
    received_bytes: u64,
    /// Digest of the parts so far. It is computed on another thread while the next part arrives.
    digest: JoinHandle<Sha256>,
    permit: ReceivePermit,
}

/// The right to receive the bytes of one upload. The slot is declared first, so it is given back before the lock: the request that
/// waits for the lock needs a slot next, and must not be refused because of this one.
struct ReceivePermit {
    _slot: OwnedSemaphorePermit,
    lock: ReceiveLock,
}

impl UploadReceiver {
    /// Checks the URL and the headers, then stops any other request that sends bytes for the same upload.
    ///
    /// # Errors
    /// [`Error::UploadRefused`] for an invalid signature or an expired URL; [`Error::NotFound`] for an upload that does not exist;
    /// [`Error::Conflict`] for a completed one, and when a newer request sends bytes for it; [`Error::TooLarge`] and
    /// [`Error::Invalid`] for another length or media type than announced; [`Error::TooManyUploads`] when the account
    /// sends too many files at the same time; [`Error::StorageFull`] when the disk has no room for the file;
    /// [`Error::Internal`] when the database or the store fails.
    pub async fn begin(
        core: &CoreContext,
        uploads: &Uploads,
        disk: &DiskSpace,
        request: &PutRequest,
    ) -> Result<Self, Error> {
        check_url(core, uploads, request)?;
        let upload = find_uncompleted(core, request.upload).await?;
        let announced_bytes = u64::try_from(upload.bytes).unwrap_or_default();
        check_headers(&upload, announced_bytes, request)?;
        let lock = uploads.receive_locks.acquire(request.upload).await?;
        // After the lock: an older request for the same upload has given back its slot by then.
        let slot = uploads.receive_slots.try_acquire(upload.user_id)?;
        // Read once more: the upload may have been completed with the former bytes while this request waited for the lock.
        let upload = find_uncompleted(core, request.upload).await?;
        if uploads.store.upload_bucket().is_some() {
            return Err(BlobError::PresignedOnly.into());
        }
        // Checked before the row of the file is written; the store would refuse the file only afterwards.
        disk.require_room()?;
        // Row before bytes: if the process dies from here on, the clean-up finds the file by its row once the lease has expired.
        let lease = stored_files::lease(core, Some((upload.user_id, upload.id))).await?;
        let blob = match uploads.store.create(&lease.path, Some(announced_bytes)).await {
            Ok(blob) => blob,
            Err(error) => {
                stored_files::discard(core, &*uploads.store, lease).await;
                return Err(error.into());
            }
        };
        // A task like those of the parts, each of which takes over the digest of the one before.
        let digest = tokio::task::spawn_blocking(Sha256::new);
        Ok(Self {
            core: core.clone(),
            uploads: uploads.clone(),
            upload,
            announced_bytes,
            lease,
            blob,
            part: Vec::new(),
            received_bytes: 0,
            digest,
            permit: ReceivePermit { _slot: slot, lock },
        })
    }

    /// Writes received bytes. After an error the receiver must be aborted.
    ///
    /// # Errors
    /// [`Error::TooLarge`] once there are more bytes than announced; those of the store.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.received_bytes += bytes.len() as u64;
        // A chunked body declares no length, so the bound is checked while the bytes arrive.
        if self.received_bytes > self.announced_bytes {
            return Err(longer_than(self.announced_bytes));
        }
        self.part.extend_from_slice(bytes);
        if self.part.len() >= PART_BYTES { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<(), Error> {
        // The last piece may exceed `PART_BYTES`. The spare capacity is for it, so that the part need not be moved.
        let part = std::mem::replace(&mut self.part, Vec::with_capacity(PART_BYTES + PART_BYTES / 8));
        // The digest of the part before: waiting for it bounds the parts in memory, and keeps them in their order.
        let mut digest = (&mut self.digest).await.map_err(Error::internal)?;
        let bytes = Bytes::from(part);
        // Shares the bytes, so the thread that hashes them needs no copy.
        let same = bytes.clone();
        self.digest = tokio::task::spawn_blocking(move || {
            digest.update(&same);
            digest
        });
        Ok(self.blob.write(bytes).await?)
    }

    /// Waits until another request sends bytes for the same upload, and returns the error of this one. This
    /// receiver must be aborted then.
    pub async fn wait_until_replaced(&self) -> Error {
        self.permit.lock.wait_until_replaced().await
    }

    /// Completes the file and assigns it to its upload.
    ///
    /// # Errors
    /// [`Error::Invalid`] when bytes are missing; [`Error::Conflict`] when the upload was completed meanwhile, or when another
    /// request sends bytes for it; those of the database and of the store. Nothing of the file is left then.
    pub async fn finish(mut self) -> Result<(), Error> {
        let (received, announced) = (self.received_bytes, self.announced_bytes);
        if received < announced {
            self.abort().await;
            let reason = format!("has {received} bytes, and {announced} were announced");
            return Err(Error::invalid("body", reason));
        }
        if let Err(error) = self.flush().await {
            self.abort().await;
            return Err(error);
        }
        // The permit is kept until the file is assigned or discarded.
        let Self { core, uploads, upload, lease, blob, digest, permit, .. } = self;
        let assigned = async {
            let digest = digest.await.map_err(Error::internal)?.finalize();
            blob.finish().await?;
            // The file may have been replaced while it was written; its client has abandoned this request then.
            permit.lock.require_newest()?;
            record_arrival(&core, &upload, &lease, base16ct::lower::encode_string(&digest)).await
        };
        let assigned = assigned.await;
        if assigned.is_err() {
            stored_files::discard(&core, &*uploads.store, lease).await;
        }
        assigned
    }

    /// Deletes what was received so far. The upload keeps the file that arrived before, if there is one.
    pub async fn abort(self) {
        self.blob.abort().await;
        stored_files::discard(&self.core, &*self.uploads.store, self.lease).await;
    }
}

fn check_url(core: &CoreContext, uploads: &Uploads, request: &PutRequest) -> Result<(), Error> {
    if !uploads.url_signer.verify(request.upload, request.expires_at, &request.signature) {
        return Err(Error::UploadRefused(
            "the signature of the upload URL is not valid; use putUrl as it was returned",
        ));
    }
    if core.clock.now() >= request.expires_at {
        return Err(Error::UploadRefused("the upload URL has expired; create a new upload"));
    }
    Ok(())
}

/// Finds an upload whose bytes may still arrive or be replaced.
async fn find_uncompleted(core: &CoreContext, id: UploadId) -> Result<Model, Error> {
    let upload = Entity::by_signed_url(id).one(core.db.read()).await?.ok_or(Error::not_found())?;
    if upload.completed_at.is_some() { Err(ALREADY_COMPLETE) } else { Ok(upload) }
}

const ALREADY_COMPLETE: Error =
    Error::Conflict(Cow::Borrowed("the upload is complete; its file can no longer be replaced"));

fn longer_than(announced_bytes: u64) -> Error {
    Error::TooLarge { what: "the file", limit: announced_bytes }
}

fn check_headers(upload: &Model, announced_bytes: u64, request: &PutRequest) -> Result<(), Error> {
    let declared = request.content_type.as_deref().and_then(MediaType::parse);
    if declared.is_none_or(|declared| Some(declared) != MediaType::parse(&upload.content_type)) {
        return Err(Error::invalid("Content-Type", "must be the contentType that was announced"));
    }
    match request.content_length {
        Some(bytes) if bytes > announced_bytes => Err(longer_than(announced_bytes)),
        Some(bytes) if bytes < announced_bytes => Err(Error::invalid(
            "Content-Length",
            format!("must be the {announced_bytes} bytes that were announced"),
        )),
        Some(_) | None => Ok(()),
    }
}

/// Records that the bytes of an upload have arrived, and assigns the file to it.
async fn record_arrival(
    core: &CoreContext,
    upload: &Model,
    lease: &FileLease,
    sha256: String,
) -> Result<(), Error> {
    let now = core.clock.now();
    // The request has no credential, so its account is named here, to bound the connections that its uploads hold.
    let txn = on_behalf_of(upload.user_id, begin_owned(&core.db, upload.user_id)).await?;
    let arrived = Entity::update_owned(upload.user_id)
        .col_expr(Column::ArrivedAt, Expr::value(Some(now)))
        .col_expr(Column::Sha256, Expr::value(Some(sha256)))
        .filter(Column::Id.eq(upload.id))
        // A completion that was committed first has fixed the file: the document is made of it.
        .filter(Column::CompletedAt.is_null())
        .exec(&txn)
        .await?;
    if arrived.rows_affected == 0 {
        return Err(ALREADY_COMPLETE);
    }
    if !stored_files::assign_to_upload(&txn, lease.id, upload.id, now).await? {
        return Err(Error::internal("a file was removed while it was written"));
    }
    Ok(txn.commit().await?)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake, Waker};

    use uuid::Uuid;
    use values::id::UserId;

    use super::super::receive_locks::ReceiveLocks;
    use super::super::receive_slots::ReceiveSlots;
    use super::*;

    const USER: UserId = UserId(Uuid::from_u128(7));

    /// Notes whether the account has a free slot at the moment at which the lock is given back.
    struct SlotProbe {
        slots: ReceiveSlots,
        is_slot_free: AtomicBool,
    }

    impl Wake for SlotProbe {
        fn wake(self: Arc<Self>) {
            self.is_slot_free.store(self.slots.try_acquire(USER).is_ok(), Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn slot_is_given_back_before_the_lock() {
        let (locks, slots, upload) =
            (ReceiveLocks::default(), ReceiveSlots::default(), UploadId(Uuid::from_u128(8)));
        let permit = ReceivePermit {
            _slot: slots.try_acquire(USER).unwrap(),
            lock: locks.acquire(upload).await.unwrap(),
        };
        let _others: Vec<_> = std::iter::from_fn(|| slots.try_acquire(USER).ok()).collect();
        let probe = Arc::new(SlotProbe { slots, is_slot_free: AtomicBool::new(false) });
        let waker = Waker::from(probe.clone());
        let mut waiting = pin!(locks.acquire(upload));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());

        drop(permit);

        assert!(probe.is_slot_free.load(Ordering::SeqCst));
    }
}
