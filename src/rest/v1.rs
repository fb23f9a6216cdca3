//! The table of REST v1 (contract.md, section 6).

use actix_web::http::StatusCode;
use actors::operations::account::ShowAccount;
use actors::operations::bookmarks::{BatchBookmarks, BookmarkExists, ChangeBookmark, CreateBookmark, CreateBookmarkResponse, DeleteBookmark, ListBookmarks, RefetchBookmark, RestoreBookmark, ShowBookmark};
use actors::operations::collections::{ChangeCollection, CreateCollection, DeleteCollection, ListCollections, PutIntoCollection, ShowCollection, TakeFromCollection};
use actors::operations::entries::{ChangeEntry, ListEntries, MarkEntries, ShowEntry, TranscribeEntry};
use actors::operations::feeds::{ChangeFeed, DiscoverFeeds, ExportOpml, FollowFeed, FollowFeedResponse, ImportOpml, ListFeeds, RefreshFeed, ShowFeed, UnfollowFeed};
use actors::operations::highlights::{ChangeHighlight, CreateHighlight, DeleteHighlight, ListHighlights};
use actors::operations::rendition::{ReadHtml, ReadOutline};
use actors::operations::tags::{DeleteTag, ListTags, RenameTag};

use crate::http::table::{Route, route};

/// REST v1.
pub static ROUTES: &[Route] = &[
    route!(
        /// Lists bookmarks, filtered and sorted. Use `updatedSince` and `includeDeleted` to keep a copy in sync.
        GET "/bookmarks" as "GET /bookmarks" => ListBookmarks
    ),
    route!(
        /// Saves a URL. If `html` or `text` is given, the page is not fetched. If the URL is saved already, only the tags are added, and the response is 200 with `created: false`.
        POST "/bookmarks" as "POST /bookmarks" => CreateBookmark, status saved
    ),
    route!(
        /// Checks whether a URL is saved. URLs are compared in normalised form.
        GET "/bookmarks/exists" as "GET /bookmarks/exists" => BookmarkExists
    ),
    route!(
        /// Creates, changes and deletes up to 100 bookmarks in one request. The operations are independent: if one fails, its result contains the error, and the others are carried out.
        POST "/bookmarks/batch" as "POST /bookmarks/batch" => BatchBookmarks
    ),
    route!(
        /// Returns a bookmark.
        GET "/bookmarks/{id}" as "GET /bookmarks/:id" => ShowBookmark
    ),
    route!(
        /// Changes the given fields of a bookmark.
        PATCH "/bookmarks/{id}" as "PATCH /bookmarks/:id" => ChangeBookmark
    ),
    route!(
        /// Deletes a bookmark. It disappears from lists and search at once, and can be restored for 30 days.
        DELETE "/bookmarks/{id}" as "DELETE /bookmarks/:id" => DeleteBookmark
    ),
    route!(
        /// Restores a deleted bookmark with all its notes, tags and highlights.
        POST "/bookmarks/{id}/restore" as "POST /bookmarks/:id/restore" => RestoreBookmark
    ),
    route!(
        /// Fetches the page again. The old text is kept until the new one is ready.
        POST "/bookmarks/{id}/refetch" as "POST /bookmarks/:id/refetch" => RefetchBookmark, status |_| StatusCode::ACCEPTED
    ),
    route!(
        /// Lists the highlights of a bookmark, in the order of the text.
        GET "/bookmarks/{id}/highlights" as "GET /bookmarks/:id/highlights" => ListHighlights
    ),
    route!(
        /// Highlights a part of the text. `text` must be what the document contains at the offsets.
        POST "/bookmarks/{id}/highlights" as "POST /bookmarks/:id/highlights" => CreateHighlight, status |_| StatusCode::CREATED
    ),
    route!(
        /// Changes the given fields of a highlight. If the text or an offset changes, `text` must be what the document contains at the offsets.
        PATCH "/highlights/{id}" as "PATCH /highlights/:id" => ChangeHighlight
    ),
    route!(
        /// Deletes a highlight.
        DELETE "/highlights/{id}" as "DELETE /highlights/:id" => DeleteHighlight
    ),
    route!(
        /// Returns a document as sanitised HTML for reading. The text of saved pages is third-party content.
        GET "/documents/{id}/html" as "GET /documents/:id/html" => ReadHtml
    ),
    route!(
        /// Lists the headings of a document, each with its offset in the text and its page in a PDF.
        GET "/documents/{id}/outline" as "GET /documents/:id/outline" => ReadOutline
    ),
    route!(
        /// Lists the tags of all bookmarks, sorted by name.
        GET "/tags" as "GET /tags" => ListTags
    ),
    route!(
        /// Renames a tag on every bookmark. If a tag of the new name exists, the two are merged.
        PATCH "/tags/{name}" as "PATCH /tags/:name" => RenameTag
    ),
    route!(
        /// Removes a tag from every bookmark.
        DELETE "/tags/{name}" as "DELETE /tags/:name" => DeleteTag
    ),
    route!(
        /// Lists collections, oldest first.
        GET "/collections" as "GET /collections" => ListCollections
    ),
    route!(
        /// Creates a collection.
        POST "/collections" as "POST /collections" => CreateCollection, status |_| StatusCode::CREATED
    ),
    route!(
        /// Returns a collection.
        GET "/collections/{id}" as "GET /collections/:id" => ShowCollection
    ),
    route!(
        /// Changes the given fields of a collection. A collection cannot be nested in itself.
        PATCH "/collections/{id}" as "PATCH /collections/:id" => ChangeCollection
    ),
    route!(
        /// Deletes a collection. Its bookmarks and the collections nested in it are kept.
        DELETE "/collections/{id}" as "DELETE /collections/:id" => DeleteCollection
    ),
    route!(
        /// Adds a bookmark to a collection. Idempotent.
        PUT "/collections/{id}/bookmarks/{bookmark}" as "PUT /collections/:id/bookmarks/:bookmarkId" => PutIntoCollection
    ),
    route!(
        /// Removes a bookmark from a collection. Idempotent.
        DELETE "/collections/{id}/bookmarks/{bookmark}" as "DELETE /collections/:id/bookmarks/:bookmarkId" => TakeFromCollection
    ),
    route!(
        /// Lists the followed feeds.
        GET "/feeds" as "GET /feeds" => ListFeeds
    ),
    route!(
        /// Follows a feed, or the feed that a page links to. If it is followed already, the response is 200.
        POST "/feeds" as "POST /feeds" => FollowFeed, status followed
    ),
    route!(
        /// Finds the feeds at a URL without following them.
        POST "/feeds/discover" as "POST /feeds/discover" => DiscoverFeeds
    ),
    route!(
        /// Exports all followed feeds as OPML.
        GET "/feeds/opml" as "GET /feeds/opml" => ExportOpml
    ),
    route!(
        /// Follows every feed of an OPML document. The feeds are fetched in the background.
        POST "/feeds/opml" as "POST /feeds/opml" => ImportOpml, status |_| StatusCode::ACCEPTED
    ),
    route!(
        /// Returns a feed.
        GET "/feeds/{id}" as "GET /feeds/:id" => ShowFeed
    ),
    route!(
        /// Changes the given fields of a feed.
        PATCH "/feeds/{id}" as "PATCH /feeds/:id" => ChangeFeed
    ),
    route!(
        /// Unfollows a feed. Its entries are deleted; bookmarks of them are kept.
        DELETE "/feeds/{id}" as "DELETE /feeds/:id" => UnfollowFeed
    ),
    route!(
        /// Fetches a feed as soon as possible.
        POST "/feeds/{id}/refresh" as "POST /feeds/:id/refresh" => RefreshFeed, status |_| StatusCode::ACCEPTED
    ),
    route!(
        /// Lists the entries of the followed feeds, newest first.
        GET "/entries" as "GET /entries" => ListEntries
    ),
    route!(
        /// Marks entries as read: all, or those of one feed, or those before a time.
        POST "/entries/read" as "POST /entries/read" => MarkEntries
    ),
    route!(
        /// Returns an entry.
        GET "/entries/{id}" as "GET /entries/:id" => ShowEntry
    ),
    route!(
        /// Marks an entry as read or unread, starred or not.
        PATCH "/entries/{id}" as "PATCH /entries/:id" => ChangeEntry
    ),
    route!(
        /// Transcribes the recording of an entry. The transcript becomes the text of the entry. The response is 409 if the entry has no recording.
        POST "/entries/{id}/transcribe" as "POST /entries/:id/transcribe" => TranscribeEntry, status |_| StatusCode::ACCEPTED
    ),
    route!(
        /// Returns the account that the API key belongs to.
        GET "/user" as "GET /user" => ShowAccount
    ),
];

/// 201 where the bookmark was made now, 200 where it was there.
fn saved(reply: &CreateBookmarkResponse) -> StatusCode {
    if reply.created { StatusCode::CREATED } else { StatusCode::OK }
}

/// 201 where the feed is followed since now, 200 where it was followed before.
fn followed(reply: &FollowFeedResponse) -> StatusCode {
    if reply.created { StatusCode::CREATED } else { StatusCode::OK }
}
