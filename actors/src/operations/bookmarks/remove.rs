//! Deletes a bookmark and restores it.

use entity::bookmark;
use schemars::JsonSchema;
use serde::Serialize;
use values::id::BookmarkId;
use values::scope::Scope;
use values::time::Timestamp;

use super::view::{self, BookmarkResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use jobs::Priority;
use library::bookmarks;
use library::owned_transaction::begin_request;
use validation::NoFields;

/// Deletes a bookmark. It can be restored for 30 days, and is in no list, search or project meanwhile.
#[derive(Debug)]
pub struct DeleteBookmark(pub BookmarkId);

impl FromRequest for DeleteBookmark {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The deleted bookmark, and until when it can be restored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteBookmarkResponse {
    bookmark_id: BookmarkId,
    /// Always `true`; an unknown bookmark is answered with 404.
    deleted: bool,
    /// When the bookmark is removed permanently: 30 days after the deletion.
    restorable_until: Timestamp,
}

impl Operation for DeleteBookmark {
    type Reply = DeleteBookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteBookmarkResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        bookmarks::delete(&txn, caller.user, self.0, Priority::Now, now).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(DeleteBookmarkResponse {
            bookmark_id: self.0,
            deleted: true,
            restorable_until: now + bookmark::RESTORE_PERIOD,
        })
    }
}

/// Restores a deleted bookmark with its tags, notes, highlights, collections and projects.
#[derive(Debug)]
pub struct RestoreBookmark(BookmarkId);

impl FromRequest for RestoreBookmark {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for RestoreBookmark {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BookmarkResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = bookmarks::restore(&txn, caller.user, self.0, ctx.core.clock.now()).await?;
        let bookmark = view::load_view(&ctx.core, &txn, row).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(BookmarkResponse { bookmark })
    }
}
