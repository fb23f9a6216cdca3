//! The table of what the web app has beside the library.

use actix_web::http::StatusCode;
use actors::operations::activity::ListActivity;
use actors::operations::apps::{DisconnectApp, ListApps};
use actors::operations::exports::{BeginExport, ShowExport};
use actors::operations::import_rows::ListImportRows;
use actors::operations::imports::{ListImports, MoveImport, ShowImport};
use actors::operations::keys::{ChangeKey, CreateKey, ListKeys, RegenerateKey, RevokeKey};
use actors::operations::notes::{ChangeNote, DeleteNote};
use actors::operations::notices::{ListNotices, MarkRead};
use actors::operations::projects::{ChangeDecision, ChangeItem, ChangeProject, CreateDecision, CreateProject, DeleteDecision, DeleteProject, ListDecisions, ListItems, ListNotes, ListProjects, RemoveItem, ShowProject, WriteNote};

use actors::operations::work::{ListWork, RetryWork};

use super::assistants::{ListAssistants, TestConnection};
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
    route!(GET "/assistants" as "GET /assistants" => ListAssistants),
    route!(POST "/connection-test" as "POST /connection-test" => TestConnection),
    route!(GET "/notices" as "GET /notices" => ListNotices),
    route!(POST "/notices/read" as "POST /notices/read" => MarkRead, read MarkRead::all),
    route!(POST "/notices/{id}/read" as "POST /notices/:id/read" => MarkRead, read MarkRead::one),
    route!(GET "/projects" as "GET /projects" => ListProjects),
    route!(POST "/projects" as "POST /projects" => CreateProject, status |_| StatusCode::CREATED),
    route!(GET "/projects/{id}" as "GET /projects/:id" => ShowProject),
    route!(PATCH "/projects/{id}" as "PATCH /projects/:id" => ChangeProject),
    route!(DELETE "/projects/{id}" as "DELETE /projects/:id" => DeleteProject),
    route!(GET "/projects/{id}/decisions" as "GET /projects/:id/decisions" => ListDecisions),
    route!(POST "/projects/{id}/decisions" as "POST /projects/:id/decisions" => CreateDecision, status |_| StatusCode::CREATED),
    route!(PATCH "/projects/{id}/decisions/{decision}" as "PATCH /projects/:id/decisions/:did" => ChangeDecision),
    route!(DELETE "/projects/{id}/decisions/{decision}" as "DELETE /projects/:id/decisions/:did" => DeleteDecision),
    route!(GET "/projects/{id}/items" as "GET /projects/:id/items" => ListItems),
    route!(PATCH "/projects/{id}/items/{item}" as "PATCH /projects/:id/items/:iid" => ChangeItem),
    route!(DELETE "/projects/{id}/items/{item}" as "DELETE /projects/:id/items/:iid" => RemoveItem),
    route!(GET "/projects/{id}/notes" as "GET /projects/:id/notes" => ListNotes),
    route!(POST "/projects/{id}/notes" as "POST /projects/:id/notes" => WriteNote, status |_| StatusCode::CREATED),
    route!(PATCH "/notes/{id}" as "PATCH /notes/:nid" => ChangeNote),
    route!(DELETE "/notes/{id}" as "DELETE /notes/:nid" => DeleteNote),
    route!(GET "/activity" as "GET /activity" => ListActivity),
    route!(GET "/work" as "GET /work" => ListWork),
    route!(POST "/work/{id}/retry" as "POST /work/:id/retry" => RetryWork, status |_| StatusCode::ACCEPTED),
    route!(GET "/imports/{id}" as "GET /imports/:id" => ShowImport),
    route!(GET "/imports/{id}/rows" as "GET /imports/:id/rows" => ListImportRows),
    route!(POST "/imports/{id}/start" as "POST /imports/:id/start" => MoveImport, read MoveImport::start),
    route!(POST "/imports/{id}/pause" as "POST /imports/:id/pause" => MoveImport, read MoveImport::pause),
    route!(POST "/imports/{id}/resume" as "POST /imports/:id/resume" => MoveImport, read MoveImport::resume),
    route!(POST "/imports/{id}/undo" as "POST /imports/:id/undo" => MoveImport, read MoveImport::undo),
    route!(POST "/exports" as "POST /exports" => BeginExport, status |_| StatusCode::ACCEPTED),
    route!(GET "/exports/{id}" as "GET /exports/:id" => ShowExport),
];

/// Stands beside the one route that takes a form.
pub static LIST_IMPORTS: Route = route!(GET "/imports" as "GET /imports" => ListImports);
