//! Fetches a saved page again, or reads an upload's file again. The old text stays until the new one replaces it.

use entity::{bookmark, document};
use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, QuerySelect};
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
use library::bookmarks;
use library::owned_transaction::begin_request;
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
        if row.kind == BookmarkKind::Page {
            // A page that was saved with its content may have a private URL.
            bookmarks::require_fetchable(&row.url, ctx.ingest.fetcher.guard())?;
        }
        let (kind, now) = (text_job(&txn, &row).await?, ctx.core.clock.now());
        jobs::enqueue(&txn, caller.user, kind, row.document_id.0, Priority::Now, now).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(BookmarkResponse { bookmark: view::load_view(&ctx.core, ctx.core.db.write(), row).await? })
    }
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
