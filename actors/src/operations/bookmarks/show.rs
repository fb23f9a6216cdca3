//! Shows a bookmark.

use values::id::BookmarkId;
use values::scope::Scope;

use super::view::{self, BookmarkResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// Shows one bookmark of the user.
#[derive(Debug)]
pub struct ShowBookmark(BookmarkId);

impl FromRequest for ShowBookmark {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowBookmark {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BookmarkResponse, Error> {
        let bookmark = view::load_visible_view(&ctx.core, ctx.core.db.read(), caller.user, self.0).await?;
        Ok(BookmarkResponse { bookmark })
    }
}
