//! Completing an upload: document, bookmark and job in one transaction, once however often it is asked for.

use database::Transaction;
use entity::id::{BookmarkId, DocumentId, UploadId};
use entity::kind::{BookmarkKind, ContentType};
use entity::time::Timestamp;
use entity::upload::{Column, Entity, Model};
use entity::{bookmark, document, user};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use storage::blobs::{PresignedUploads, blob_path, incoming_path};
use web::PageUrl;

use super::announce::{sent_by, storage_used_up};
use super::stored::{self, Held};
use super::{MediaType, arrived_directly, stored_bytes};
use actors::context::CoreContext;
use actors::auth::caller::Caller;
use errors::Error;
use jobs::{Priority, JobKind};
use crate::library_quota::LibraryRoom;
use crate::owned_transaction::begin_request;

const NOT_ARRIVED: Error =
    Error::UploadIncomplete("the bytes of the upload have not arrived; send all of them to putUrl first");
const OTHER_LENGTH: Error =
    Error::UploadIncomplete("the bytes that arrived have another length than announced; send the file again");
const OTHER_SUM: Error = Error::UploadIncomplete(
    "the bytes that arrived have another SHA-256 than sha256 says; send the file again",
);

/// What an upload became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The upload.
    pub upload: UploadId,
    /// Its document.
    pub document: DocumentId,
    /// Its bookmark.
    pub bookmark: BookmarkId,
}

impl Completed {
    fn of(row: &Model) -> Option<Self> {
        row.completed_at?;
        Some(Self { upload: row.id, document: row.document_id?, bookmark: row.bookmark_id? })
    }
}

/// Who completes what.
#[derive(Clone, Debug)]
pub struct Completion<'a> {
    /// Whose upload.
    pub caller: &'a Caller,
    /// Which.
    pub upload: UploadId,
    /// The SHA-256 that the bytes must have, in lower-case hexadecimal digits.
    pub sha256: Option<String>,
}

/// Bytes that were copied out of their sender's reach.
struct Copied {
    held: Held,
    sha256: Option<String>,
}

/// Completes an upload whose bytes have arrived whole; said again it answers the same.
///
/// # Errors
/// [`Error::NotFound`], [`Error::UploadIncomplete`] before the bytes have come and where their sum differs,
/// [`Error::UploadExpired`] when none came in time; [`Error::LibraryFull`]: it can be completed later, once there is space.
pub async fn complete(core: &CoreContext, asked: Completion<'_>) -> Result<Completed, Error> {
    let row =
        Entity::one_of(asked.caller.user, asked.upload).one(core.db.read()).await?.ok_or(Error::not_found())?;
    let presigned = ctx.uploads.store.presigned_uploads().filter(|_| row.completed_at.is_none());
    let Some(presigned) = presigned else { return settle(ctx, &asked, None).await };
    let copied = copy(ctx, presigned, &row, &asked).await?;
    let done = settle(ctx, &asked, Some(&copied)).await;
    // The upload's own file stays; another's copy, where somebody completed it at the same time, does not.
    stored::discard(ctx, &*ctx.uploads.store, copied.held).await;
    done
}

/// Copies what a client sent past us, and looks at the copy: nobody changes that any more.
async fn copy(
    core: &CoreContext,
    presigned: &dyn PresignedUploads,
    row: &Model,
    asked: &Completion<'_>,
) -> Result<Copied, Error> {
    if arrived_directly(&ctx.uploads, row).await?.is_none() {
        return Err(nothing_came(ctx, row));
    }
    let held = stored::hold(ctx, None, blob_path).await?;
    let looked = async {
        presigned.copy(&incoming_path(row.id), &held.path).await?;
        let copied = presigned.head(&held.path).await?.map(|copied| copied.bytes);
        let sha256 = match &asked.sha256 {
            Some(_) => Some(presigned.sha256(&held.path).await?),
            None => None,
        };
        // What was looked at before may have been replaced while it was copied.
        if copied != u64::try_from(row.bytes).ok() { Err(OTHER_LENGTH) } else { Ok(sha256) }
    };
    match looked.await {
        Ok(sha256) => Ok(Copied { held, sha256 }),
        Err(error) => {
            stored::discard(ctx, &*ctx.uploads.store, held).await;
            Err(error)
        }
    }
}

fn nothing_came(core: &CoreContext, row: &Model) -> Error {
    if row.accepts_bytes(core.clock.now()) { NOT_ARRIVED } else { Error::UploadExpired }
}

async fn settle(core: &CoreContext, asked: &Completion<'_>, copied: Option<&Copied>) -> Result<Completed, Error> {
    let now = core.clock.now();
    let txn = begin_request(&core.db, asked.caller).await?;
    // What the user's uploads take up is counted by one at a time, as where they are announced.
    user::Entity::find_by_id(asked.caller.user).lock_exclusive().one(&txn).await?.ok_or(Error::not_found())?;
    let locked = Entity::one_of(asked.caller.user, asked.upload).lock_exclusive().one(&txn).await?;
    let row = locked.ok_or(Error::not_found())?;
    if let Some(done) = Completed::of(&row) {
        return if differs(asked, row.sha256.as_ref()) { Err(OTHER_SUM) } else { Ok(done) };
    }
    let sha256 = match copied {
        Some(copied) => copied.sha256.clone(),
        None if row.arrived_at.is_none() => return Err(nothing_came(ctx, &row)),
        None => row.sha256.clone(),
    };
    if differs(asked, sha256.as_ref()) {
        return Err(OTHER_SUM);
    }
    if let Some(copied) = copied {
        take_over(ctx, &txn, asked, &row, copied, now).await?;
    }
    let room = LibraryRoom::of_owner(&txn, ctx, asked.caller.user).await?;
    let done = make(ctx, &txn, &row, sha256, now).await?;
    room.must_hold(&txn).await?;
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(done)
}

/// Whether the bytes are known to be others than asked for.
fn differs(asked: &Completion<'_>, sha256: Option<&String>) -> bool {
    asked.sha256.as_ref().zip(sha256).is_some_and(|(asked, is)| asked != is)
}

/// The copy becomes the upload's file; what the client sent is left until nothing more can come there.
async fn take_over(
    core: &CoreContext,
    txn: &Transaction,
    asked: &Completion<'_>,
    row: &Model,
    copied: &Copied,
    now: Timestamp,
) -> Result<(), Error> {
    let bytes = u64::try_from(row.bytes).unwrap_or(u64::MAX);
    let most = core.plans.limits(asked.caller.plan).stored_bytes;
    // Late bytes were not counted meanwhile: whether they came is known only now.
    if now >= row.expires_at && stored_bytes(txn, asked.caller.user, now).await?.saturating_add(bytes) > most
    {
        return Err(storage_used_up(most));
    }
    if stored::attach(txn, copied.held.id, row.id, sent_by(row)).await? {
        Ok(())
    } else {
        Err(Error::internal("a file was removed while it was copied"))
    }
}

async fn make(
    core: &CoreContext,
    txn: &impl ConnectionTrait,
    row: &Model,
    sha256: Option<String>,
    now: Timestamp,
) -> Result<Completed, Error> {
    let (document, bookmark) = rows(ctx, row, now)?;
    let done = Completed { upload: row.id, document: document.id, bookmark: bookmark.id };
    let work = JobKind::of_file(document.content_type);
    document::Entity::insert(document.into_active_model()).exec_without_returning(txn).await?;
    bookmark::Entity::insert(bookmark.into_active_model()).exec_without_returning(txn).await?;
    Entity::update_many()
        .col_expr(Column::CompletedAt, Expr::value(Some(now)))
        .col_expr(Column::Sha256, Expr::value(sha256))
        .col_expr(Column::DocumentId, Expr::value(Some(done.document)))
        .col_expr(Column::BookmarkId, Expr::value(Some(done.bookmark)))
        .filter(Column::UserId.eq(row.user_id))
        .filter(Column::Id.eq(row.id))
        .exec(txn)
        .await?;
    jobs::enqueue(txn, row.user_id, work, done.document.0, Priority::Now, now).await?;
    Ok(done)
}

fn rows(core: &CoreContext, row: &Model, now: Timestamp) -> Result<(document::Model, bookmark::Model), Error> {
    let bookmark_id = BookmarkId::new(now);
    let announced = MediaType::parse(&row.content_type).and_then(|kind| kind.content_type());
    let document = document::Model {
        bookmark_id: Some(bookmark_id),
        ..document::Model::pending(
            row.user_id,
            announced.unwrap_or(ContentType::Pdf),
            row.filename.clone(),
            now,
        )
    };
    let url = core.url_of(&document);
    let bookmark = bookmark::Model {
        id: bookmark_id,
        user_id: row.user_id,
        document_id: document.id,
        kind: BookmarkKind::Upload,
        normalized_url: PageUrl::parse(&url).map_err(Error::internal)?.normalized(),
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
