//! Fetching a saved page again, or reading an upload's file again; the old text stays until the new one is in.

use entity::id::BookmarkId;
use entity::kind::BookmarkKind;
use entity::scope::Scope;
use entity::{bookmark, document};
use sea_orm::sea_query::LockType;
use sea_orm::{ConnectionTrait, QuerySelect};

use super::save;
use super::view::{self, BookmarkResponse};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use crate::ingest::media::{self, recording_url};
use jobs::{Priority, JobKind};
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Which.
#[derive(Debug)]
pub struct RefetchBookmark(BookmarkId);

impl RefetchBookmark {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for RefetchBookmark {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BookmarkResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let row = bookmark::Entity::one_of(caller.user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        if row.kind == BookmarkKind::Page {
            save::may_fetch(&row.url, ctx.ingest.fetcher.guard())?;
        }
        let work = work(&txn, &row).await?;
        jobs::enqueue(&txn, caller.user, work, row.document_id.0, Priority::Now, ctx.core.clock.now()).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(BookmarkResponse { bookmark: view::one(ctx, ctx.core.db.write(), row).await? })
    }
}

/// What makes the text anew. A transcript is made from its recording, which may stand elsewhere: no page takes its place.
async fn work(txn: &impl ConnectionTrait, row: &bookmark::Model) -> Result<JobKind, Error> {
    let of_kind = JobKind::of_bookmark(row.kind);
    // Locked, so that a concurrent transcript is either visible here or cancels the fetch of the page when it is stored.
    let found = document::Entity::one_of(row.user_id, row.document_id).lock(LockType::NoKeyUpdate);
    let found = found.one(txn).await?;
    let Some(document) = found.filter(|_| row.kind == BookmarkKind::Page) else { return Ok(of_kind) };
    let is_heard = media::has_transcript(txn, row.user_id, document.id).await?;
    let stands_elsewhere = recording_url::find_separate(txn, &document).await?.is_some();
    Ok(if is_heard && stands_elsewhere { JobKind::Transcribe } else { of_kind })
}
