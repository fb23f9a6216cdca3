//! The table of the app's routes: its own, and those of the library that REST has too.

use actix_web::http::{Method, StatusCode};
use actors::ops::account::ShowAccount;
use actors::ops::activity::ListActivity;
use actors::ops::bookmarks::{
    BookmarkExists, ChangeBookmark, CreateBookmark, DeleteBookmark, ListBookmarks, RefetchBookmark, RestoreBookmark,
    Saved, ShowBookmark,
};
use actors::ops::chunks::ListChunks;
use actors::ops::collections::{
    CreateCollection, ListCollections, PutIntoCollection, ShowCollection, TakeFromCollection,
};
use actors::ops::document::ReadDocument;
use actors::ops::highlights::{CreateHighlight, ListHighlights};
use actors::ops::keys::{ChangeKey, CreateKey, ListKeys, RegenerateKey, RevokeKey};
use actors::ops::notices::{ListNotices, MarkRead};
use actors::ops::search::Search;

use super::door::{Route, operation};

macro_rules! route {
    ($method:ident $pattern:literal, $op:ty, read $read:expr) => {
        Route {
            method: Method::$method,
            pattern: $pattern,
            fields: <$op>::FIELDS,
            answer: |route, request, payload| {
                Box::pin(operation::<$op>(route, request, payload, $read, |_| StatusCode::OK))
            },
        }
    };
    ($method:ident $pattern:literal, $op:ty, $status:expr) => {
        Route {
            method: Method::$method,
            pattern: $pattern,
            fields: <$op>::FIELDS,
            answer: |route, request, payload| {
                Box::pin(operation::<$op>(route, request, payload, <$op>::read, $status))
            },
        }
    };
    ($method:ident $pattern:literal, $op:ty) => {
        route!($method $pattern, $op, |_| StatusCode::OK)
    };
}

const MADE: StatusCode = StatusCode::CREATED;

/// The app's routes.
pub static ROUTES: &[Route] = &[
    route!(GET "/keys", ListKeys),
    route!(POST "/keys", CreateKey, |_| MADE),
    route!(PATCH "/keys/{id}", ChangeKey),
    route!(DELETE "/keys/{id}", RevokeKey),
    route!(POST "/keys/{id}/regenerate", RegenerateKey),
    route!(GET "/notices", ListNotices),
    route!(POST "/notices/read", MarkRead, read MarkRead::all),
    route!(POST "/notices/{id}/read", MarkRead, read MarkRead::one),
    route!(GET "/activity", ListActivity),
    route!(GET "/library/search", Search),
    route!(GET "/library/documents/{id}", ReadDocument),
    route!(GET "/library/documents/{id}/chunks", ListChunks),
    route!(GET "/library/bookmarks", ListBookmarks),
    route!(POST "/library/bookmarks", CreateBookmark, saved),
    route!(GET "/library/bookmarks/exists", BookmarkExists),
    route!(GET "/library/bookmarks/{id}", ShowBookmark),
    route!(PATCH "/library/bookmarks/{id}", ChangeBookmark),
    route!(DELETE "/library/bookmarks/{id}", DeleteBookmark),
    route!(POST "/library/bookmarks/{id}/restore", RestoreBookmark),
    route!(POST "/library/bookmarks/{id}/refetch", RefetchBookmark, |_| StatusCode::ACCEPTED),
    route!(GET "/library/bookmarks/{id}/highlights", ListHighlights),
    route!(POST "/library/bookmarks/{id}/highlights", CreateHighlight, |_| MADE),
    route!(GET "/library/collections", ListCollections),
    route!(POST "/library/collections", CreateCollection, |_| MADE),
    route!(GET "/library/collections/{id}", ShowCollection),
    route!(PUT "/library/collections/{id}/bookmarks/{bookmark}", PutIntoCollection),
    route!(DELETE "/library/collections/{id}/bookmarks/{bookmark}", TakeFromCollection),
    route!(GET "/library/user", ShowAccount),
];

/// 201 where the bookmark was made now, 200 where it was there.
fn saved(reply: &Saved) -> StatusCode {
    if reply.created { MADE } else { StatusCode::OK }
}
