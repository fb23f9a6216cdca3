//! The table of REST v2 (spec.md: Endpoints).

use actix_web::http::StatusCode;
use actors::ops;
use actors::ops::projects::{AddItems, AddNote, ListProjects, ReadContext};

use crate::http::table::{Route, route};

/// REST v2.
pub static ROUTES: &[Route] = &[
    route!(GET "/search" as "GET /search" => ops::search::Search),
    route!(POST "/ask" as "POST /ask" => ops::ask::Ask),
    route!(GET "/documents/{id}" as "GET /documents/:id" => ops::document::ReadDocument),
    route!(GET "/documents/{id}/chunks" as "GET /documents/:id/chunks" => ops::chunks::ListChunks),
    route!(GET "/documents/{id}/transcript" as "GET /documents/:id/transcript" => ops::transcript::ReadTranscript),
    route!(GET "/projects" as "GET /projects" => ListProjects),
    route!(GET "/projects/{id}/context" as "GET /projects/:id/context" => ReadContext),
    route!(POST "/projects/{id}/items" as "POST /projects/:id/items" => AddItems, status |_| StatusCode::CREATED),
    route!(POST "/projects/{id}/notes" as "POST /projects/:id/notes" => AddNote, status |_| StatusCode::CREATED),
    route!(POST "/uploads" as "POST /uploads" => ops::uploads::CreateUpload, status |_| StatusCode::CREATED),
    route!(GET "/uploads/{id}" as "GET /uploads/:id" => ops::uploads::ShowUpload),
    route!(POST "/uploads/{id}/complete" as "POST /uploads/:id/complete" => ops::uploads::CompleteUpload, status |_| StatusCode::ACCEPTED),
    route!(GET "/usage" as "GET /usage" => ops::usage::ReadUsage),
];
