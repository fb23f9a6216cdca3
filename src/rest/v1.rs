//! The table of REST v1 (contract.md, section 6).

use actix_web::http::StatusCode;
use actors::ops::account::ShowAccount;
use actors::ops::bookmarks::{
    BatchBookmarks, BookmarkExists, ChangeBookmark, CreateBookmark, DeleteBookmark, ListBookmarks,
    RefetchBookmark, RestoreBookmark, Saved, ShowBookmark,
};
use actors::ops::collections::{
    ChangeCollection, CreateCollection, DeleteCollection, ListCollections, PutIntoCollection, ShowCollection,
    TakeFromCollection,
};
use actors::ops::entries::{ChangeEntry, ListEntries, MarkEntries, ShowEntry};
use actors::ops::feeds::{
    ChangeFeed, DiscoverFeeds, ExportOpml, FollowFeed, Followed, ImportOpml, ListFeeds, RefreshFeed,
    ShowFeed, UnfollowFeed,
};
use actors::ops::highlights::{ChangeHighlight, CreateHighlight, DeleteHighlight, ListHighlights};
use actors::ops::tags::{DeleteTag, ListTags, RenameTag};

use super::error;
use crate::http::table::{Route, route};

/// REST v1.
pub static ROUTES: &[Route] = &[
    route!(GET "/bookmarks" as "GET /bookmarks" => ListBookmarks),
    route!(POST "/bookmarks" as "POST /bookmarks" => CreateBookmark, status saved),
    route!(GET "/bookmarks/exists" as "GET /bookmarks/exists" => BookmarkExists),
    route!(POST "/bookmarks/batch" as "POST /bookmarks/batch" => BatchBookmarks, read |target, values| BatchBookmarks::read(target, values, error::told)),
    route!(GET "/bookmarks/{id}" as "GET /bookmarks/:id" => ShowBookmark),
    route!(PATCH "/bookmarks/{id}" as "PATCH /bookmarks/:id" => ChangeBookmark),
    route!(DELETE "/bookmarks/{id}" as "DELETE /bookmarks/:id" => DeleteBookmark),
    route!(POST "/bookmarks/{id}/restore" as "POST /bookmarks/:id/restore" => RestoreBookmark),
    route!(POST "/bookmarks/{id}/refetch" as "POST /bookmarks/:id/refetch" => RefetchBookmark, status |_| StatusCode::ACCEPTED),
    route!(GET "/bookmarks/{id}/highlights" as "GET /bookmarks/:id/highlights" => ListHighlights),
    route!(POST "/bookmarks/{id}/highlights" as "POST /bookmarks/:id/highlights" => CreateHighlight, status |_| StatusCode::CREATED),
    route!(PATCH "/highlights/{id}" as "PATCH /highlights/:id" => ChangeHighlight),
    route!(DELETE "/highlights/{id}" as "DELETE /highlights/:id" => DeleteHighlight),
    route!(GET "/tags" as "GET /tags" => ListTags),
    route!(PATCH "/tags/{name}" as "PATCH /tags/:name" => RenameTag),
    route!(DELETE "/tags/{name}" as "DELETE /tags/:name" => DeleteTag),
    route!(GET "/collections" as "GET /collections" => ListCollections),
    route!(POST "/collections" as "POST /collections" => CreateCollection, status |_| StatusCode::CREATED),
    route!(GET "/collections/{id}" as "GET /collections/:id" => ShowCollection),
    route!(PATCH "/collections/{id}" as "PATCH /collections/:id" => ChangeCollection),
    route!(DELETE "/collections/{id}" as "DELETE /collections/:id" => DeleteCollection),
    route!(PUT "/collections/{id}/bookmarks/{bookmark}" as "PUT /collections/:id/bookmarks/:bookmarkId" => PutIntoCollection),
    route!(DELETE "/collections/{id}/bookmarks/{bookmark}" as "DELETE /collections/:id/bookmarks/:bookmarkId" => TakeFromCollection),
    route!(GET "/feeds" as "GET /feeds" => ListFeeds),
    route!(POST "/feeds" as "POST /feeds" => FollowFeed, status followed),
    route!(POST "/feeds/discover" as "POST /feeds/discover" => DiscoverFeeds),
    route!(GET "/feeds/opml" as "GET /feeds/opml" => ExportOpml),
    route!(POST "/feeds/opml" as "POST /feeds/opml" => ImportOpml, status |_| StatusCode::ACCEPTED),
    route!(GET "/feeds/{id}" as "GET /feeds/:id" => ShowFeed),
    route!(PATCH "/feeds/{id}" as "PATCH /feeds/:id" => ChangeFeed),
    route!(DELETE "/feeds/{id}" as "DELETE /feeds/:id" => UnfollowFeed),
    route!(POST "/feeds/{id}/refresh" as "POST /feeds/:id/refresh" => RefreshFeed, status |_| StatusCode::ACCEPTED),
    route!(GET "/entries" as "GET /entries" => ListEntries),
    route!(POST "/entries/read" as "POST /entries/read" => MarkEntries),
    route!(GET "/entries/{id}" as "GET /entries/:id" => ShowEntry),
    route!(PATCH "/entries/{id}" as "PATCH /entries/:id" => ChangeEntry),
    route!(GET "/user" as "GET /user" => ShowAccount),
];

/// 201 where the bookmark was made now, 200 where it was there.
fn saved(reply: &Saved) -> StatusCode {
    if reply.created { StatusCode::CREATED } else { StatusCode::OK }
}

/// 201 where the feed is followed since now, 200 where it was followed before.
fn followed(reply: &Followed) -> StatusCode {
    if reply.created { StatusCode::CREATED } else { StatusCode::OK }
}
