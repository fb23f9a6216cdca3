//! The table of what the web app has beside the library.

use actix_web::http::StatusCode;
use actors::ops::activity::ListActivity;
use actors::ops::apps::{DisconnectApp, ListApps};
use actors::ops::keys::{ChangeKey, CreateKey, ListKeys, RegenerateKey, RevokeKey};
use actors::ops::notices::{ListNotices, MarkRead};

use crate::http::table::{Route, route};

/// The app's own routes.
pub static ROUTES: &[Route] = &[
    route!(GET "/keys" as "GET /keys" => ListKeys),
    route!(POST "/keys" as "POST /keys" => CreateKey, status |_| StatusCode::CREATED),
    route!(PATCH "/keys/{id}" as "PATCH /keys/:id" => ChangeKey),
    route!(DELETE "/keys/{id}" as "DELETE /keys/:id" => RevokeKey),
    route!(POST "/keys/{id}/regenerate" as "POST /keys/:id/regenerate" => RegenerateKey),
    route!(GET "/connected-apps" as "GET /connected-apps" => ListApps),
    route!(DELETE "/connected-apps/{id}" as "DELETE /connected-apps/:id" => DisconnectApp),
    route!(GET "/notices" as "GET /notices" => ListNotices),
    route!(POST "/notices/read" as "POST /notices/read" => MarkRead, read MarkRead::all),
    route!(POST "/notices/{id}/read" as "POST /notices/:id/read" => MarkRead, read MarkRead::one),
    route!(GET "/activity" as "GET /activity" => ListActivity),
];
