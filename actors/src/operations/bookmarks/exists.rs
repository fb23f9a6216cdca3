//! Tells whether a URL is saved.

use schemars::JsonSchema;
use serde::Serialize;
use values::id::BookmarkId;
use values::scope::Scope;
use web::PageUrl;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::bookmarks;
use validation::{UrlText, request};

/// The URL to look up.
#[derive(Debug)]
pub struct BookmarkExists(String);

request! {
    /// A URL to look up.
    pub struct BookmarkExistsRequest {
        /// The URL to look up; it is normalised first.
        pub url: UrlText,
    }
}

impl FromRequest for BookmarkExists {
    type Request = BookmarkExistsRequest;

    fn from_request(_: &Target, request: BookmarkExistsRequest) -> Result<Self, Error> {
        Ok(Self(request.url.into_inner()))
    }
}

/// The bookmark that has the URL, if any, and the normalised form of the URL.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BookmarkExistsResponse {
    exists: bool,
    /// The bookmark with this URL; null if there is none. Deleted bookmarks are not found.
    pub bookmark_id: Option<BookmarkId>,
    /// The form in which URLs are compared: without fragment, tracking parameters and a default port.
    normalized_url: String,
}

impl Operation for BookmarkExists {
    type Reply = BookmarkExistsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];
    // A response of a few fixed fields needs no slot.
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<BookmarkExistsResponse, Error> {
        let url = PageUrl::parse(&self.0)?;
        let normalized_url = url.normalized();
        let found = bookmarks::find_by_url(ctx.core.db.read(), caller.user, &url.key()).await?;
        Ok(BookmarkExistsResponse {
            exists: found.is_some(),
            bookmark_id: found.map(|row| row.id),
            normalized_url,
        })
    }
}
