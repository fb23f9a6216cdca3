//! The routes of the web app other than those that it shares with REST.

use actors::operations::activity::ListActivity;
use actors::operations::apps::{DisconnectApp, ListApps};
use actors::operations::exports::{BeginExport, ShowExport};
use actors::operations::import_rows::ListImportRows;
use actors::operations::imports::{
    ListImports, PauseImport, ResumeImport, ShowImport, StartImport, UndoImport,
};
use actors::operations::keys::{ChangeKey, CreateKey, ListKeys, RegenerateKey, RevokeKey};
use actors::operations::notes::{ChangeNote, DeleteNote};
use actors::operations::notices::{ListNotices, MarkAllNoticesRead, MarkNoticeRead};
use actors::operations::projects::{
    ChangeDecision, ChangeItem, ChangeProject, CreateDecision, CreateProject, DeleteDecision, DeleteProject,
    ListDecisions, ListItems, ListNotes, ListProjects, RemoveItem, ShowProject, WriteNote,
};
use actors::operations::work::{ListWork, RetryWork};

use super::assistants::{ListAssistants, TestConnection};
use super::handler::WebApp;
use crate::routing::Route;

/// The routes that only the web app has, below /app/api.
pub static ROUTES: &[Route] = &[
    Route::get::<WebApp, ListKeys>("/keys"),
    Route::post::<WebApp, CreateKey>("/keys").created(),
    Route::patch::<WebApp, ChangeKey>("/keys/{id}"),
    Route::delete::<WebApp, RevokeKey>("/keys/{id}"),
    Route::post::<WebApp, RegenerateKey>("/keys/{id}/regenerate"),
    Route::get::<WebApp, ListApps>("/connected-apps"),
    Route::delete::<WebApp, DisconnectApp>("/connected-apps/{id}"),
    Route::get::<WebApp, ListAssistants>("/assistants"),
    Route::post::<WebApp, TestConnection>("/connection-test"),
    Route::get::<WebApp, ListNotices>("/notices"),
    Route::post::<WebApp, MarkAllNoticesRead>("/notices/read"),
    Route::post::<WebApp, MarkNoticeRead>("/notices/{id}/read"),
    Route::get::<WebApp, ListProjects>("/projects"),
    Route::post::<WebApp, CreateProject>("/projects").created(),
    Route::get::<WebApp, ShowProject>("/projects/{id}"),
    Route::patch::<WebApp, ChangeProject>("/projects/{id}"),
    Route::delete::<WebApp, DeleteProject>("/projects/{id}"),
    Route::get::<WebApp, ListDecisions>("/projects/{id}/decisions"),
    Route::post::<WebApp, CreateDecision>("/projects/{id}/decisions").created(),
    Route::patch::<WebApp, ChangeDecision>("/projects/{id}/decisions/{did}"),
    Route::delete::<WebApp, DeleteDecision>("/projects/{id}/decisions/{did}"),
    Route::get::<WebApp, ListItems>("/projects/{id}/items"),
    Route::patch::<WebApp, ChangeItem>("/projects/{id}/items/{iid}"),
    Route::delete::<WebApp, RemoveItem>("/projects/{id}/items/{iid}"),
    Route::get::<WebApp, ListNotes>("/projects/{id}/notes"),
    Route::post::<WebApp, WriteNote>("/projects/{id}/notes").created(),
    Route::patch::<WebApp, ChangeNote>("/notes/{nid}"),
    Route::delete::<WebApp, DeleteNote>("/notes/{nid}"),
    Route::get::<WebApp, ListActivity>("/activity"),
    Route::get::<WebApp, ListWork>("/work"),
    Route::post::<WebApp, RetryWork>("/work/{id}/retry").accepted(),
    Route::get::<WebApp, ShowImport>("/imports/{id}"),
    Route::get::<WebApp, ListImportRows>("/imports/{id}/rows"),
    Route::post::<WebApp, StartImport>("/imports/{id}/start"),
    Route::post::<WebApp, PauseImport>("/imports/{id}/pause"),
    Route::post::<WebApp, ResumeImport>("/imports/{id}/resume"),
    Route::post::<WebApp, UndoImport>("/imports/{id}/undo"),
    Route::post::<WebApp, BeginExport>("/exports").accepted(),
    Route::get::<WebApp, ShowExport>("/exports/{id}"),
];

/// GET of the one path whose POST takes a form ([`super::imports`]).
pub static LIST_IMPORTS: Route = Route::get::<WebApp, ListImports>("/imports");
