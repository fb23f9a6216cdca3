//! Fetches a saved page again, or reads an upload's file again. The old text stays until the new one replaces it.

use database::padded;
use entity::{bookmark, document};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::BookmarkId;
use values::kind::BookmarkKind;
use values::scope::Scope;

use super::view::{self, BookmarkResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::ingest::media::{has_transcript, recording_url};
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use jobs::{JobKind, Priority};
use library::BATCH_ROWS;
use library::bookmarks;
use library::owned_transaction::{begin_owned, begin_request};
use validation::NoFields;

/// The bookmark whose text is made again.
#[derive(Debug)]
pub struct RefetchBookmark(BookmarkId);

impl FromRequest for RefetchBookmark {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for RefetchBookmark {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const ERRORS: &'static [&'static str] = &[code::URL_REJECTED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BookmarkResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = bookmark::Entity::one_visible_to(caller.user, self.0)
            .one(&txn)
            .await?
            .ok_or(Error::not_found())?;
        enqueue_text_job(&txn, ctx, &row, Priority::Now).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(BookmarkResponse { bookmark: view::load_view(&ctx.core, ctx.core.db.write(), row).await? })
    }
}

/// Makes the texts of many bookmarks again. Leaves out those that are gone or whose URL must not be fetched. Returns how many texts are made.
pub(super) async fn refetch_all(
    caller: &Caller,
    ctx: &OperationContext,
    ids: &[BookmarkId],
) -> Result<usize, Error> {
    let mut enqueued = 0_usize;
    for batch in ids.chunks(BATCH_ROWS) {
        let txn = begin_owned(&ctx.core.db, caller.user).await?;
        let rows =
            bookmark::Entity::visible_to(caller.user).filter(bookmark::Column::Id.is_in(padded(batch)));
        // In one order, so that two transactions do not lock their documents in different ones.
        let mut rows = rows.all(&txn).await?;
        rows.sort_unstable_by_key(|row| row.document_id);
        for row in rows {
            match enqueue_text_job(&txn, ctx, &row, Priority::Backlog).await {
                Ok(()) => enqueued = enqueued.saturating_add(1),
                Err(Error::UrlRejected { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        txn.commit().await?;
    }
    ctx.job_signal.notify();
    Ok(enqueued)
}

/// Enqueues the job that makes the text of a bookmark again.
///
/// # Errors
/// [`Error::UrlRejected`] when the URL of the page must not be fetched.
async fn enqueue_text_job(
    txn: &impl ConnectionTrait,
    ctx: &OperationContext,
    row: &bookmark::Model,
    priority: Priority,
) -> Result<(), Error> {
    if row.kind == BookmarkKind::Page {
        // A page that was saved with its content may have a private URL.
        bookmarks::require_fetchable(&row.url, ctx.ingest.fetcher.guard())?;
    }
    let (kind, now) = (text_job(txn, row).await?, ctx.core.clock.now());
    jobs::enqueue(txn, row.user_id, kind, row.document_id.0, priority, now).await?;
    Ok(())
}

/// Returns the kind of job that makes the text again. A transcript is made from its recording, which may be at another URL than the
/// page: fetching the page would replace the transcript.
async fn text_job(txn: &impl ConnectionTrait, row: &bookmark::Model) -> Result<JobKind, Error> {
    let of_kind = JobKind::of_bookmark(row.kind);
    // Locked, so that a concurrent transcript is either visible here or cancels the fetch of the page when it is stored.
    let found = document::Entity::one_visible_to(row.user_id, row.document_id).lock(LockType::NoKeyUpdate);
    let found = found.one(txn).await?;
    let Some(document) = found.filter(|_| row.kind == BookmarkKind::Page) else { return Ok(of_kind) };
    let is_transcript = has_transcript(txn, row.user_id, document.id).await?;
    let has_separate_recording = recording_url::find_separate(txn, &document).await?.is_some();
    Ok(if is_transcript && has_separate_recording { JobKind::Transcribe } else { of_kind })
}
