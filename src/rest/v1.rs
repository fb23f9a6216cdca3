//! The table of REST v1 (contract.md, section 6).

use actix_web::http::StatusCode;
use actors::ops::account::ShowAccount;
use actors::ops::bookmarks::{
    BatchBookmarks, BookmarkExists, ChangeBookmark, CreateBookmark, CreateBookmarkResponse, DeleteBookmark,
    ListBookmarks, RefetchBookmark, RestoreBookmark, ShowBookmark,
};
use actors::ops::collections::{
    ChangeCollection, CreateCollection, DeleteCollection, ListCollections, PutIntoCollection, ShowCollection,
    TakeFromCollection,
};
use actors::ops::entries::{ChangeEntry, ListEntries, MarkEntries, ShowEntry, TranscribeEntry};
use actors::ops::feeds::{
    ChangeFeed, DiscoverFeeds, ExportOpml, FollowFeed, FollowFeedResponse, ImportOpml, ListFeeds,
    RefreshFeed, ShowFeed, UnfollowFeed,
};
use actors::ops::highlights::{ChangeHighlight, CreateHighlight, DeleteHighlight, ListHighlights};
use actors::ops::rendition::{ReadHtml, ReadOutline};
use actors::ops::tags::{DeleteTag, ListTags, RenameTag};

use super::error;
use crate::http::table::{Route, route};

/// REST v1.
pub static ROUTES: &[Route] = &[
    route!(
        /// Bookmarks by filter and order. With `updatedSince` and `includeDeleted` a client keeps a copy in step.
        GET "/bookmarks" as "GET /bookmarks" => ListBookmarks
    ),
    route!(
        /// Saves an address, or a page whose `html` or `text` is given, and then nothing is fetched. An address that is saved already answers 200 with `created: false`, and only tags are added.
        POST "/bookmarks" as "POST /bookmarks" => CreateBookmark, status saved
    ),
    route!(
        /// Whether an address is saved, compared after normalising it.
        GET "/bookmarks/exists" as "GET /bookmarks/exists" => BookmarkExists
    ),
    route!(
        /// Many operations in one request. Each is done by itself: what is wrong with one stands in its own result, and the others go on.
        POST "/bookmarks/batch" as "POST /bookmarks/batch" => BatchBookmarks, read |target, values| BatchBookmarks::read(target, values, error::told)
    ),
    route!(GET "/bookmarks/{id}" as "GET /bookmarks/:id" => ShowBookmark),
    route!(
        /// Changes what is named and nothing else.
        PATCH "/bookmarks/{id}" as "PATCH /bookmarks/:id" => ChangeBookmark
    ),
    route!(
        /// It is gone from every list and search at once, and for good after 30 days.
        DELETE "/bookmarks/{id}" as "DELETE /bookmarks/:id" => DeleteBookmark
    ),
    route!(
        /// Brings a deleted bookmark back, with all that was its.
        POST "/bookmarks/{id}/restore" as "POST /bookmarks/:id/restore" => RestoreBookmark
    ),
    route!(
        /// The page is fetched again; the old text stays until the new one is in.
        POST "/bookmarks/{id}/refetch" as "POST /bookmarks/:id/refetch" => RefetchBookmark, status |_| StatusCode::ACCEPTED
    ),
    route!(
        /// Highlights in the order of the text.
        GET "/bookmarks/{id}/highlights" as "GET /bookmarks/:id/highlights" => ListHighlights
    ),
    route!(
        /// Marks words, which must stand in the text at their offsets.
        POST "/bookmarks/{id}/highlights" as "POST /bookmarks/:id/highlights" => CreateHighlight, status |_| StatusCode::CREATED
    ),
    route!(
        /// Changes what is named. Words that are moved must stand where they are moved to.
        PATCH "/highlights/{id}" as "PATCH /highlights/:id" => ChangeHighlight
    ),
    route!(DELETE "/highlights/{id}" as "DELETE /highlights/:id" => DeleteHighlight),
    route!(
        /// A document's words as HTML for reading, made safe to show. Text of saved pages is third-party content.
        GET "/documents/{id}/html" as "GET /documents/:id/html" => ReadHtml
    ),
    route!(
        /// The headings of a document, each with its place in the text and its page in a PDF.
        GET "/documents/{id}/outline" as "GET /documents/:id/outline" => ReadOutline
    ),
    route!(GET "/tags" as "GET /tags" => ListTags),
    route!(
        /// Renames a tag on every bookmark. Where a tag of the new name is there, the two become one.
        PATCH "/tags/{name}" as "PATCH /tags/:name" => RenameTag
    ),
    route!(
        /// Takes a tag off every bookmark.
        DELETE "/tags/{name}" as "DELETE /tags/:name" => DeleteTag
    ),
    route!(GET "/collections" as "GET /collections" => ListCollections),
    route!(POST "/collections" as "POST /collections" => CreateCollection, status |_| StatusCode::CREATED),
    route!(GET "/collections/{id}" as "GET /collections/:id" => ShowCollection),
    route!(
        /// Changes what is named. A collection never stands within itself.
        PATCH "/collections/{id}" as "PATCH /collections/:id" => ChangeCollection
    ),
    route!(
        /// Its bookmarks stay, and so do the collections within it.
        DELETE "/collections/{id}" as "DELETE /collections/:id" => DeleteCollection
    ),
    route!(PUT "/collections/{id}/bookmarks/{bookmark}" as "PUT /collections/:id/bookmarks/:bookmarkId" => PutIntoCollection),
    route!(DELETE "/collections/{id}/bookmarks/{bookmark}" as "DELETE /collections/:id/bookmarks/:bookmarkId" => TakeFromCollection),
    route!(GET "/feeds" as "GET /feeds" => ListFeeds),
    route!(
        /// Follows a feed, or the feed that a page names. One that is followed already answers 200.
        POST "/feeds" as "POST /feeds" => FollowFeed, status followed
    ),
    route!(
        /// The feeds that an address is or names; nothing is followed by it.
        POST "/feeds/discover" as "POST /feeds/discover" => DiscoverFeeds
    ),
    route!(
        /// All followed feeds as OPML.
        GET "/feeds/opml" as "GET /feeds/opml" => ExportOpml
    ),
    route!(
        /// Follows every feed of an OPML text; they are fetched in the background.
        POST "/feeds/opml" as "POST /feeds/opml" => ImportOpml, status |_| StatusCode::ACCEPTED
    ),
    route!(GET "/feeds/{id}" as "GET /feeds/:id" => ShowFeed),
    route!(PATCH "/feeds/{id}" as "PATCH /feeds/:id" => ChangeFeed),
    route!(DELETE "/feeds/{id}" as "DELETE /feeds/:id" => UnfollowFeed),
    route!(
        /// The feed is looked at as soon as may be.
        POST "/feeds/{id}/refresh" as "POST /feeds/:id/refresh" => RefreshFeed, status |_| StatusCode::ACCEPTED
    ),
    route!(
        /// Entries of the followed feeds, newest first.
        GET "/entries" as "GET /entries" => ListEntries
    ),
    route!(
        /// Marks entries as read, all or those of one feed, up to a moment.
        POST "/entries/read" as "POST /entries/read" => MarkEntries
    ),
    route!(GET "/entries/{id}" as "GET /entries/:id" => ShowEntry),
    route!(PATCH "/entries/{id}" as "PATCH /entries/:id" => ChangeEntry),
    route!(
        /// Hears the recording that comes with an entry; the transcript becomes its text. 409 where none comes with it.
        POST "/entries/{id}/transcribe" as "POST /entries/:id/transcribe" => TranscribeEntry, status |_| StatusCode::ACCEPTED
    ),
    route!(GET "/user" as "GET /user" => ShowAccount),
];

/// 201 where the bookmark was made now, 200 where it was there.
fn saved(reply: &CreateBookmarkResponse) -> StatusCode {
    if reply.created { StatusCode::CREATED } else { StatusCode::OK }
}

/// 201 where the feed is followed since now, 200 where it was followed before.
fn followed(reply: &FollowFeedResponse) -> StatusCode {
    if reply.created { StatusCode::CREATED } else { StatusCode::OK }
}
