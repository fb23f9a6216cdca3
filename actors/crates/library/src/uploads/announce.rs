//! Announcing an upload: the plan's limits, and the address that its bytes are to be sent to.

use std::time::Duration;

use entity::id::{FileId, UploadId, UserId};
use entity::time::Timestamp;
use entity::upload::{Entity, Model};
use entity::{stored_file, user};
use sea_orm::{EntityTrait, IntoActiveModel, QuerySelect};
use storage::blobs::incoming_path;

use super::{MediaType, Uploads, stored_bytes};
use actors::context::CoreContext;
use actors::auth::caller::Caller;
use errors::Error;
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::begin_request;

/// A client may take so long, after the last moment at which it could begin, until its bytes are in the store.
const SENDING: Duration = Duration::from_secs(6 * 3600);

/// A file that is to come.
#[derive(Clone, Debug)]
pub struct Announced {
    /// What the person calls it; no part of any path.
    pub filename: String,
    /// Its media type, as it was said.
    pub content_type: String,
    /// Its length, at least 1.
    pub bytes: u64,
}

/// Where to send it.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The upload.
    pub upload: Model,
    /// Takes the bytes by PUT, without a key. A secret: whoever has it may send them.
    pub put_url: String,
}

/// Announces a file.
///
/// # Errors
/// [`Error::PlanRequired`], [`Error::TooLarge`], [`Error::PlanLimit`] and [`Error::LibraryFull`] by the plan,
/// [`Error::UnsupportedType`] for what is not read here.
pub async fn announce(core: &CoreContext, caller: &Caller, new: Announced) -> Result<Ticket, Error> {
    let (user, limits) = (caller.user, core.plans.limits(caller.plan));
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
    let row = row(&ctx.uploads, user, new, limits.upload_bytes, now)?;
    let txn = begin_request(&core.db, caller).await?;
    // Two announcements at once are counted one after the other.
    user::Entity::find_by_id(user).lock_exclusive().one(&txn).await?.ok_or(Error::not_found())?;
    // Refused before the file is sent: its text would exceed the library.
    let room = LibraryRoom::of_owner(&txn, ctx, user).await?;
    room.must_fit(0)?;
    let asked = u64::try_from(row.bytes).unwrap_or(u64::MAX);
    if stored_bytes(&txn, user, now).await?.saturating_add(asked) > limits.stored_bytes {
        return Err(storage_used_up(limits.stored_bytes));
    }
    Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
    if ctx.uploads.store.presigned_uploads().is_some() {
        let file = incoming(&row);
        stored_file::Entity::insert(file.into_active_model()).exec_without_returning(&txn).await?;
    }
    room.must_hold(&txn).await?;
    txn.commit().await?;
    let put_url = put_address(ctx, &row).await?;
    Ok(Ticket { upload: row, put_url })
}

fn too_large(limit: u64) -> Error {
    Error::TooLarge { what: "the file", limit }
}

/// The uploads of an account would be larger than the plan allows.
pub(super) fn storage_used_up(limit: u64) -> Error {
    Error::PlanLimit(format!(
        "the plan allows {limit} bytes of uploads at one time; delete uploaded items first"
    ))
}

fn row(
    uploads: &Uploads,
    user: UserId,
    new: Announced,
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
        expires_at: now + uploads.put_for,
        receiving_until: Timestamp::from_millis(0),
        arrived_at: None,
        sha256: None,
        completed_at: None,
        document_id: None,
        bookmark_id: None,
    })
}

/// The place that a client may fill without our noticing: it is named as long as something may come there.
fn incoming(row: &Model) -> stored_file::Model {
    stored_file::Model {
        id: FileId::new(row.created_at),
        upload_id: Some(row.id),
        import_id: None,
        export_id: None,
        document_id: None,
        user_id: None,
        bytes: 0,
        path: incoming_path(row.id),
        held_until: sent_by(row),
        doomed: false,
    }
}

/// Nothing more comes to an upload's address after this.
pub(super) fn sent_by(row: &Model) -> Timestamp {
    row.expires_at + SENDING
}

/// The address of an upload that was announced, signed anew.
///
/// # Errors
/// The store cannot sign.
pub async fn put_address(core: &CoreContext, row: &Model) -> Result<String, Error> {
    let uploads = &ctx.uploads;
    if let Some(presigned) = uploads.store.presigned_uploads() {
        let left = row.expires_at.since(core.clock.now()).max(Duration::from_secs(1));
        return Ok(presigned.presign_put(&incoming_path(row.id), &row.content_type, left).await?);
    }
    let (id, until) = (row.id, row.expires_at);
    let signature = uploads.signatures.sign(id, until);
    Ok(format!("{}/files/{id}?expires={}&signature={signature}", core.base_url, until.millis()))
}
