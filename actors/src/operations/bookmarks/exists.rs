//! Tells whether a URL is saved, and finds the bookmarks of several URLs.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use values::id::BookmarkId;
use values::scope::Scope;
use web::PageUrl;

use super::view::{BookmarkView, load_views};
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

/// Finds the bookmarks of several URLs, for the form that saves pages.
#[derive(Debug)]
pub struct FindBookmarksByUrl {
    /// The URLs; they are normalised first.
    pub urls: Vec<String>,
}

/// The bookmarks of several URLs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindBookmarksByUrlResponse {
    /// The bookmark of each URL, in the order of the URLs; null for one that is not saved or not valid.
    pub bookmarks: Vec<Option<BookmarkView>>,
}

impl Operation for FindBookmarksByUrl {
    type Reply = FindBookmarksByUrlResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FindBookmarksByUrlResponse, Error> {
        let (db, user) = (ctx.core.db.read(), caller.user);
        let key = |url: &String| PageUrl::parse(url).ok().map(|url| url.key());
        let keys: Vec<Option<String>> = self.urls.iter().map(key).collect();
        let valid: Vec<String> = keys.iter().flatten().cloned().collect();
        let ids = bookmarks::find_by_urls(db, user, &valid).await?;
        let found: Vec<BookmarkId> = ids.values().copied().collect();
        let views = load_views(&ctx.core, db, user, &found).await?;
        let views: HashMap<BookmarkId, BookmarkView> =
            views.into_iter().map(|view| (view.bookmark_id, view)).collect();
        // Two URLs may be of the same page.
        let bookmark = |key: &Option<String>| views.get(ids.get(key.as_ref()?)?).cloned();
        Ok(FindBookmarksByUrlResponse { bookmarks: keys.iter().map(bookmark).collect() })
    }
}
