//! The table of REST v1 (contract.md, section 6).

use actix_web::http::{Method, StatusCode};
use actors::ops::account::ShowAccount;
use actors::ops::bookmarks::{
    BookmarkExists, ChangeBookmark, CreateBookmark, DeleteBookmark, ListBookmarks, RefetchBookmark, RestoreBookmark,
    Saved, ShowBookmark,
};
use actors::ops::collections::{
    CreateCollection, ListCollections, PutIntoCollection, ShowCollection, TakeFromCollection,
};
use actors::ops::highlights::{CreateHighlight, ListHighlights};

use super::handler::{Route, operation};
use super::routes::route;

/// REST v1.
pub static ROUTES: &[Route] = &[
    route!(GET "/bookmarks", "GET /bookmarks", ListBookmarks),
    route!(POST "/bookmarks", "POST /bookmarks", CreateBookmark, saved),
    route!(GET "/bookmarks/exists", "GET /bookmarks/exists", BookmarkExists),
    route!(GET "/bookmarks/{id}", "GET /bookmarks/:id", ShowBookmark),
    route!(PATCH "/bookmarks/{id}", "PATCH /bookmarks/:id", ChangeBookmark),
    route!(DELETE "/bookmarks/{id}", "DELETE /bookmarks/:id", DeleteBookmark),
    route!(POST "/bookmarks/{id}/restore", "POST /bookmarks/:id/restore", RestoreBookmark),
    route!(POST "/bookmarks/{id}/refetch", "POST /bookmarks/:id/refetch", RefetchBookmark, |_| StatusCode::ACCEPTED),
    route!(GET "/bookmarks/{id}/highlights", "GET /bookmarks/:id/highlights", ListHighlights),
    route!(POST "/bookmarks/{id}/highlights", "POST /bookmarks/:id/highlights", CreateHighlight, |_| StatusCode::CREATED),
    route!(GET "/collections", "GET /collections", ListCollections),
    route!(POST "/collections", "POST /collections", CreateCollection, |_| StatusCode::CREATED),
    route!(GET "/collections/{id}", "GET /collections/:id", ShowCollection),
    route!(PUT "/collections/{id}/bookmarks/{bookmark}", "PUT /collections/:id/bookmarks/:bookmarkId", PutIntoCollection),
    route!(DELETE "/collections/{id}/bookmarks/{bookmark}", "DELETE /collections/:id/bookmarks/:bookmarkId", TakeFromCollection),
    route!(GET "/user", "GET /user", ShowAccount),
];

/// 201 where the bookmark was made now, 200 where it was there.
fn saved(reply: &Saved) -> StatusCode {
    if reply.created { StatusCode::CREATED } else { StatusCode::OK }
}
