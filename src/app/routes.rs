//! The routes of the web app other than those that it shares with REST.

use actix_web::http::StatusCode;
use actors::operations::activity::ListActivity;
use actors::operations::apps::{DisconnectApp, ListApps};
use actors::operations::exports::{BeginExport, ShowExport};
use actors::operations::import_rows::ListImportRows;
use actors::operations::imports::{ChangeImportState, ListImports, ShowImport};
use actors::operations::keys::{ChangeKey, CreateKey, ListKeys, RegenerateKey, RevokeKey};
use actors::operations::notes::{ChangeNote, DeleteNote};
use actors::operations::notices::{ListNotices, MarkRead};
use actors::operations::projects::{
    ChangeDecision, ChangeItem, ChangeProject, CreateDecision, CreateProject, DeleteDecision, DeleteProject,
    ListDecisions, ListItems, ListNotes, ListProjects, RemoveItem, ShowProject, WriteNote,
};
use actors::operations::work::{ListWork, RetryWork};

use super::assistants::{ListAssistants, TestConnection};
use super::handler::WebApp;
use crate::routing::{Route, route};

/// The routes that only the web app has, below /app/api.
pub static ROUTES: &[Route] = &[
    route!(WebApp, GET "/keys" as "GET /keys" => ListKeys),
    route!(WebApp, POST "/keys" as "POST /keys" => CreateKey, status |_| StatusCode::CREATED),
    route!(WebApp, PATCH "/keys/{id}" as "PATCH /keys/:id" => ChangeKey),
    route!(WebApp, DELETE "/keys/{id}" as "DELETE /keys/:id" => RevokeKey),
    route!(WebApp, POST "/keys/{id}/regenerate" as "POST /keys/:id/regenerate" => RegenerateKey),
    route!(WebApp, GET "/connected-apps" as "GET /connected-apps" => ListApps),
    route!(WebApp, DELETE "/connected-apps/{id}" as "DELETE /connected-apps/:id" => DisconnectApp),
    route!(WebApp, GET "/assistants" as "GET /assistants" => ListAssistants),
    route!(WebApp, POST "/connection-test" as "POST /connection-test" => TestConnection),
    route!(WebApp, GET "/notices" as "GET /notices" => ListNotices),
    route!(WebApp, POST "/notices/read" as "POST /notices/read" => MarkRead, read MarkRead::all),
    route!(WebApp, POST "/notices/{id}/read" as "POST /notices/:id/read" => MarkRead, read MarkRead::one),
    route!(WebApp, GET "/projects" as "GET /projects" => ListProjects),
    route!(WebApp, POST "/projects" as "POST /projects" => CreateProject, status |_| StatusCode::CREATED),
    route!(WebApp, GET "/projects/{id}" as "GET /projects/:id" => ShowProject),
    route!(WebApp, PATCH "/projects/{id}" as "PATCH /projects/:id" => ChangeProject),
    route!(WebApp, DELETE "/projects/{id}" as "DELETE /projects/:id" => DeleteProject),
    route!(WebApp, GET "/projects/{id}/decisions" as "GET /projects/:id/decisions" => ListDecisions),
    route!(WebApp, POST "/projects/{id}/decisions" as "POST /projects/:id/decisions" => CreateDecision, status |_| StatusCode::CREATED),
    route!(WebApp, PATCH "/projects/{id}/decisions/{decision}" as "PATCH /projects/:id/decisions/:did" => ChangeDecision),
    route!(WebApp, DELETE "/projects/{id}/decisions/{decision}" as "DELETE /projects/:id/decisions/:did" => DeleteDecision),
    route!(WebApp, GET "/projects/{id}/items" as "GET /projects/:id/items" => ListItems),
    route!(WebApp, PATCH "/projects/{id}/items/{item}" as "PATCH /projects/:id/items/:iid" => ChangeItem),
    route!(WebApp, DELETE "/projects/{id}/items/{item}" as "DELETE /projects/:id/items/:iid" => RemoveItem),
    route!(WebApp, GET "/projects/{id}/notes" as "GET /projects/:id/notes" => ListNotes),
    route!(WebApp, POST "/projects/{id}/notes" as "POST /projects/:id/notes" => WriteNote, status |_| StatusCode::CREATED),
    route!(WebApp, PATCH "/notes/{id}" as "PATCH /notes/:nid" => ChangeNote),
    route!(WebApp, DELETE "/notes/{id}" as "DELETE /notes/:nid" => DeleteNote),
    route!(WebApp, GET "/activity" as "GET /activity" => ListActivity),
    route!(WebApp, GET "/work" as "GET /work" => ListWork),
    route!(WebApp, POST "/work/{id}/retry" as "POST /work/:id/retry" => RetryWork, status |_| StatusCode::ACCEPTED),
    route!(WebApp, GET "/imports/{id}" as "GET /imports/:id" => ShowImport),
    route!(WebApp, GET "/imports/{id}/rows" as "GET /imports/:id/rows" => ListImportRows),
    route!(WebApp, POST "/imports/{id}/start" as "POST /imports/:id/start" => ChangeImportState, read ChangeImportState::start),
    route!(WebApp, POST "/imports/{id}/pause" as "POST /imports/:id/pause" => ChangeImportState, read ChangeImportState::pause),
    route!(WebApp, POST "/imports/{id}/resume" as "POST /imports/:id/resume" => ChangeImportState, read ChangeImportState::resume),
    route!(WebApp, POST "/imports/{id}/undo" as "POST /imports/:id/undo" => ChangeImportState, read ChangeImportState::undo),
    route!(WebApp, POST "/exports" as "POST /exports" => BeginExport, status |_| StatusCode::ACCEPTED),
    route!(WebApp, GET "/exports/{id}" as "GET /exports/:id" => ShowExport),
];

/// GET of the one path whose POST takes a form ([`super::imports`]).
pub static LIST_IMPORTS: Route = route!(WebApp, GET "/imports" as "GET /imports" => ListImports);
