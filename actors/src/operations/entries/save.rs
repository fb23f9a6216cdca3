//! Saves an entry to the library: its page becomes a bookmark that shares the entry's document.

use entity::entry;
use errors::Error;
use library::bookmarks::NewBookmark;
use validation::NoFields;
use values::id::EntryId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{CreatesIfAbsent, FromRequest, Operation};
use crate::operations::bookmarks::{CreateBookmark, CreateBookmarkResponse};
use crate::target::Target;

/// Saves the page of an entry, or returns the bookmark that has it already.
#[derive(Debug)]
pub struct SaveEntry(EntryId);

impl FromRequest for SaveEntry {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl CreatesIfAbsent for SaveEntry {
    fn has_created(reply: &CreateBookmarkResponse) -> bool {
        reply.created
    }
}

impl Operation for SaveEntry {
    type Reply = CreateBookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadEntries, Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CreateBookmarkResponse, Error> {
        let row = entry::Entity::one_of(caller.user, self.0).one(ctx.core.db.read()).await?;
        let row = row.ok_or(Error::not_found())?;
        if row.normalized_url.is_empty() {
            return Err(Error::conflict("the entry has no page of its own, so there is no URL to save"));
        }
        let page = NewBookmark { url: row.url, ..NewBookmark::default() };
        CreateBookmark(page).run(caller, ctx).await
    }
}
