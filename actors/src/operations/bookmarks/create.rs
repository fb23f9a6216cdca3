//! Saves a page (contract.md, section 6: POST /bookmarks).

use schemars::JsonSchema;
use serde::Serialize;
use values::scope::Scope;

use super::view::{self, BookmarkView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{CreatesIfAbsent, FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use jobs::Priority;
use library::bookmarks::{self, CreateBookmarkRequest, NewBookmark};

/// Saves a page, or adds tags to the bookmark that has its URL already.
#[derive(Debug)]
pub struct CreateBookmark(pub NewBookmark);

impl FromRequest for CreateBookmark {
    type Request = CreateBookmarkRequest;

    fn from_request(_: &Target, request: CreateBookmarkRequest) -> Result<Self, Error> {
        Ok(Self(NewBookmark::from_fields(request)))
    }
}

/// The bookmark, and whether it is new.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreateBookmarkResponse {
    /// The new or existing bookmark.
    pub bookmark: BookmarkView,
    /// Whether the bookmark is new. If not, the URL was saved before and only tags were added.
    pub created: bool,
}

impl CreatesIfAbsent for CreateBookmark {
    fn has_created(reply: &CreateBookmarkResponse) -> bool {
        reply.created
    }
}

impl Operation for CreateBookmark {
    type Reply = CreateBookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CreateBookmarkResponse, Error> {
        // A page that is sent with its content is not fetched, so it may have a private URL (contract.md, section 11: v1).
        if self.0.content.is_none() {
            let guard = ctx.ingest.fetcher.guard();
            bookmarks::require_savable(ctx.core.db.read(), caller.user, &self.0.url, guard).await?;
        }
        let tags = self.0.tags.clone();
        // The order of several collections is that of their rows, and notes are stored as a document.
        let is_plain = self.0.notes.is_none() && self.0.collections.len() <= 1;
        let collections = self.0.collections.clone();
        let saved = bookmarks::save(&ctx.core, &caller.owner(), self.0, Priority::Now).await?;
        ctx.job_signal.notify();
        let created = saved.is_created;
        let bookmark = match saved.document.filter(|_| is_plain) {
            Some(document) => view::view_of_new(&ctx.core, saved.row, document, tags, collections),
            None => view::load_view(&ctx.core, ctx.core.db.read(), saved.row).await?,
        };
        Ok(CreateBookmarkResponse { bookmark, created })
    }
}
