//! Replaces the text of a saved page by content that the user has pasted, such as of a page that the server cannot fetch.

use entity::bookmark;
use sea_orm::QuerySelect;
use sea_orm::sea_query::LockType;
use values::id::BookmarkId;
use values::kind::{BookmarkKind, SourceFormat};
use values::scope::Scope;

use super::view::{self, BookmarkResponse};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use jobs::{JobKind, Priority};
use library::documents::{SuppliedContent, store_supplied_content};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use validation::{Content, Invalid, request};

/// Makes the text of a saved page from supplied content.
#[derive(Debug)]
pub struct SupplyContent {
    id: BookmarkId,
    /// `None` if the request has none: whether the bookmark exists is answered first.
    content: Option<SuppliedContent>,
}

request! {
    /// The content of a page.
    pub struct SupplyContentRequest {
        /// HTML of the page.
        pub html?: Content,
        /// Text of the page.
        pub text?: Content,
    }
    "text" excludes "html": "must not be given together with html";
}

impl FromRequest for SupplyContent {
    type Request = SupplyContentRequest;

    fn from_request(target: &Target, request: SupplyContentRequest) -> Result<Self, Error> {
        let id = target.id(0)?;
        let html = request.html.map(|html| (SourceFormat::Html, html.into_inner()));
        let given = html.or(request.text.map(|text| (SourceFormat::Text, text.into_inner())));
        let given = given.filter(|(_, body)| !body.trim().is_empty());
        let content = given.map(|(format, body)| SuppliedContent { format, body, html: None, outline: None });
        Ok(Self { id, content })
    }
}

impl Operation for SupplyContent {
    type Reply = BookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BookmarkResponse, Error> {
        let (user, now) = (caller.user, ctx.core.clock.now());
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let found = bookmark::Entity::one_visible_to(user, self.id).lock(LockType::NoKeyUpdate);
        let row = found.one(&txn).await?.ok_or(Error::not_found())?;
        if row.kind != BookmarkKind::Page {
            return Err(Error::Conflict("the text of an upload is made from its file".into()));
        }
        let content = self.content.ok_or_else(|| Invalid::new("text", "must not be blank"))?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        room.must_fit(content.body.len())?;
        store_supplied_content(&txn, user, [(row.document_id, content)]).await?;
        jobs::enqueue(&txn, user, JobKind::ProcessText, row.document_id.0, Priority::Now, now).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(BookmarkResponse { bookmark: view::load_view(&ctx.core, ctx.core.db.write(), row).await? })
    }
}
