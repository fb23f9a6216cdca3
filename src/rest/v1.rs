//! The table of REST v1 (contract.md, section 6).

use std::marker::PhantomData;

use actix_web::http::StatusCode;
use actors::operations::account::ShowAccount;
use actors::operations::bookmarks::{
    BatchBookmarks, BookmarkExists, ChangeBookmark, CreateBookmark, CreateBookmarkResponse, DeleteBookmark,
    ListBookmarks, RefetchBookmark, RestoreBookmark, ShowBookmark,
};
use actors::operations::collections::{
    ChangeCollection, CreateCollection, DeleteCollection, ListCollections, PutIntoCollection, ShowCollection,
    TakeFromCollection,
};
use actors::operations::entries::{ChangeEntry, ListEntries, MarkEntries, ShowEntry, TranscribeEntry};
use actors::operations::feeds::{
    ChangeFeed, DiscoverFeeds, ExportOpml, FollowFeed, FollowFeedResponse, ImportOpml, ListFeeds,
    RefreshFeed, ShowFeed, UnfollowFeed,
};
use actors::operations::highlights::{ChangeHighlight, CreateHighlight, DeleteHighlight, ListHighlights};
use actors::operations::rendition::{ReadHtml, ReadOutline};
use actors::operations::tags::{DeleteTag, ListTags, RenameTag};

use crate::routing::{Route, RouteSurface, route};

/// REST v1 for a surface: REST itself, or the web app.
pub struct V1Routes<S>(PhantomData<S>);

impl<S: RouteSurface> V1Routes<S> {
    /// The routes of the table, in the order of the documentation.
    pub const ROUTES: &'static [Route] = &[
        route!(
            S,
            /// Lists bookmarks, filtered and sorted. Use `updatedSince` and `includeDeleted` to keep a copy in sync.
            GET "/bookmarks" as "GET /bookmarks" => ListBookmarks
        ),
        route!(
            S,
            /// Saves a URL. If `html` or `text` is given, the page is not fetched. If the URL is saved already, only the tags are added, and the response is 200 with `created: false`.
            POST "/bookmarks" as "POST /bookmarks" => CreateBookmark, status status_of_save
        ),
        route!(
            S,
            /// Checks whether a URL is saved. URLs are compared in normalised form.
            GET "/bookmarks/exists" as "GET /bookmarks/exists" => BookmarkExists
        ),
        route!(
            S,
            /// Creates, changes and deletes up to 100 bookmarks in one request. The operations are independent: if one fails, its result contains the error, and the others are carried out.
            POST "/bookmarks/batch" as "POST /bookmarks/batch" => BatchBookmarks
        ),
        route!(
            S,
            /// Returns a bookmark.
            GET "/bookmarks/{id}" as "GET /bookmarks/:id" => ShowBookmark
        ),
        route!(
            S,
            /// Changes the given fields of a bookmark.
            PATCH "/bookmarks/{id}" as "PATCH /bookmarks/:id" => ChangeBookmark
        ),
        route!(
            S,
            /// Deletes a bookmark. It disappears from lists and search at once, and can be restored for 30 days.
            DELETE "/bookmarks/{id}" as "DELETE /bookmarks/:id" => DeleteBookmark
        ),
        route!(
            S,
            /// Restores a deleted bookmark with all its notes, tags and highlights.
            POST "/bookmarks/{id}/restore" as "POST /bookmarks/:id/restore" => RestoreBookmark
        ),
        route!(
            S,
            /// Fetches the page again. The old text is kept until the new one is ready.
            POST "/bookmarks/{id}/refetch" as "POST /bookmarks/:id/refetch" => RefetchBookmark, status |_| StatusCode::ACCEPTED
        ),
        route!(
            S,
            /// Lists the highlights of a bookmark, in the order of the text.
            GET "/bookmarks/{id}/highlights" as "GET /bookmarks/:id/highlights" => ListHighlights
        ),
        route!(
            S,
            /// Highlights a part of the text. `text` must be what the document contains at the offsets.
            POST "/bookmarks/{id}/highlights" as "POST /bookmarks/:id/highlights" => CreateHighlight, status |_| StatusCode::CREATED
        ),
        route!(
            S,
            /// Changes the given fields of a highlight. If the text or an offset changes, `text` must be what the document contains at the offsets.
            PATCH "/highlights/{id}" as "PATCH /highlights/:id" => ChangeHighlight
        ),
        route!(
            S,
            /// Deletes a highlight.
            DELETE "/highlights/{id}" as "DELETE /highlights/:id" => DeleteHighlight
        ),
        route!(
            S,
            /// Returns a document as sanitised HTML for reading. The text of saved pages is third-party content.
            GET "/documents/{id}/html" as "GET /documents/:id/html" => ReadHtml
        ),
        route!(
            S,
            /// Lists the headings of a document, each with its offset in the text and its page in a PDF.
            GET "/documents/{id}/outline" as "GET /documents/:id/outline" => ReadOutline
        ),
        route!(
            S,
            /// Lists the tags of all bookmarks, sorted by name.
            GET "/tags" as "GET /tags" => ListTags
        ),
        route!(
            S,
            /// Renames a tag on every bookmark. If a tag of the new name exists, the two are merged.
            PATCH "/tags/{name}" as "PATCH /tags/:name" => RenameTag
        ),
        route!(
            S,
            /// Removes a tag from every bookmark.
            DELETE "/tags/{name}" as "DELETE /tags/:name" => DeleteTag
        ),
        route!(
            S,
            /// Lists collections, oldest first.
            GET "/collections" as "GET /collections" => ListCollections
        ),
        route!(
            S,
            /// Creates a collection.
            POST "/collections" as "POST /collections" => CreateCollection, status |_| StatusCode::CREATED
        ),
        route!(
            S,
            /// Returns a collection.
            GET "/collections/{id}" as "GET /collections/:id" => ShowCollection
        ),
        route!(
            S,
            /// Changes the given fields of a collection. A collection cannot be nested in itself.
            PATCH "/collections/{id}" as "PATCH /collections/:id" => ChangeCollection
        ),
        route!(
            S,
            /// Deletes a collection. Its bookmarks and the collections nested in it are kept.
            DELETE "/collections/{id}" as "DELETE /collections/:id" => DeleteCollection
        ),
        route!(
            S,
            /// Adds a bookmark to a collection. Idempotent.
            PUT "/collections/{id}/bookmarks/{bookmark}" as "PUT /collections/:id/bookmarks/:bookmarkId" => PutIntoCollection
        ),
        route!(
            S,
            /// Removes a bookmark from a collection. Idempotent.
            DELETE "/collections/{id}/bookmarks/{bookmark}" as "DELETE /collections/:id/bookmarks/:bookmarkId" => TakeFromCollection
        ),
        route!(
            S,
            /// Lists the followed feeds.
            GET "/feeds" as "GET /feeds" => ListFeeds
        ),
        route!(
            S,
            /// Follows a feed, or the feed that a page links to. If it is followed already, the response is 200.
            POST "/feeds" as "POST /feeds" => FollowFeed, status status_of_follow
        ),
        route!(
            S,
            /// Finds the feeds at a URL without following them.
            POST "/feeds/discover" as "POST /feeds/discover" => DiscoverFeeds
        ),
        route!(
            S,
            /// Exports all followed feeds as OPML.
            GET "/feeds/opml" as "GET /feeds/opml" => ExportOpml
        ),
        route!(
            S,
            /// Follows every feed of an OPML document. The feeds are fetched in the background.
            POST "/feeds/opml" as "POST /feeds/opml" => ImportOpml, status |_| StatusCode::ACCEPTED
        ),
        route!(
            S,
            /// Returns a feed.
            GET "/feeds/{id}" as "GET /feeds/:id" => ShowFeed
        ),
        route!(
            S,
            /// Changes the given fields of a feed.
            PATCH "/feeds/{id}" as "PATCH /feeds/:id" => ChangeFeed
        ),
        route!(
            S,
            /// Unfollows a feed. Its entries are deleted; bookmarks of them are kept.
            DELETE "/feeds/{id}" as "DELETE /feeds/:id" => UnfollowFeed
        ),
        route!(
            S,
            /// Fetches a feed as soon as possible.
            POST "/feeds/{id}/refresh" as "POST /feeds/:id/refresh" => RefreshFeed, status |_| StatusCode::ACCEPTED
        ),
        route!(
            S,
            /// Lists the entries of the followed feeds, newest first.
            GET "/entries" as "GET /entries" => ListEntries
        ),
        route!(
            S,
            /// Marks entries as read: all, or those of one feed, or those before a time.
            POST "/entries/read" as "POST /entries/read" => MarkEntries
        ),
        route!(
            S,
            /// Returns an entry.
            GET "/entries/{id}" as "GET /entries/:id" => ShowEntry
        ),
        route!(
            S,
            /// Marks an entry as read or unread, starred or not.
            PATCH "/entries/{id}" as "PATCH /entries/:id" => ChangeEntry
        ),
        route!(
            S,
            /// Transcribes the recording of an entry. The transcript becomes the text of the entry. The response is 409 if the entry has no recording.
            POST "/entries/{id}/transcribe" as "POST /entries/:id/transcribe" => TranscribeEntry, status |_| StatusCode::ACCEPTED
        ),
        route!(
            S,
            /// Returns the account that the API key belongs to.
            GET "/user" as "GET /user" => ShowAccount
        ),
    ];
}

/// 201 if the bookmark was created, 200 if the URL was saved already.
fn status_of_save(reply: &CreateBookmarkResponse) -> StatusCode {
    if reply.created { StatusCode::CREATED } else { StatusCode::OK }
}

/// 201 if the feed was not followed before, 200 otherwise.
fn status_of_follow(reply: &FollowFeedResponse) -> StatusCode {
    if reply.created { StatusCode::CREATED } else { StatusCode::OK }
}
