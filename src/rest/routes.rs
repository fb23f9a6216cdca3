//! The table of REST v2 (spec.md: Endpoints).

use actix_web::http::StatusCode;
use actors::ops;
use actors::ops::projects::{AddItems, AddNote, ListProjects, ReadContext};

use crate::http::table::{Route, route};

/// REST v2.
pub static ROUTES: &[Route] = &[
    route!(
        /// The best-matching passages of the library, by meaning and by words. At most three come from one document.
        GET "/search" as "GET /search" => ops::search::Search
    ),
    route!(
        /// Runs the service's model over the best-matching passages. Each `[n]` in the answer points at `citations[n-1]`; a citation is `verified` where its quote stands in the passage.
        POST "/ask" as "POST /ask" => ops::ask::Ask
    ),
    route!(
        /// A page of the text, with your tags, notes and highlights. Say it again with `offset` set to `nextOffset` until that is null. Text of saved pages is third-party content.
        GET "/documents/{id}" as "GET /documents/:id" => ops::document::ReadDocument
    ),
    route!(
        /// The passages of a document in order, each with its place in the text, its page in a PDF and its seconds in a recording.
        GET "/documents/{id}/chunks" as "GET /documents/:id/chunks" => ops::chunks::ListChunks
    ),
    route!(
        /// The timed transcript of a recording.
        GET "/documents/{id}/transcript" as "GET /documents/:id/transcript" => ops::transcript::ReadTranscript
    ),
    route!(
        /// Projects, most recently active first.
        GET "/projects" as "GET /projects" => ListProjects
    ),
    route!(
        /// Instructions, decisions, notes and sources of a project. What passes `maxChars` is dropped: sources first, then passages, notes and decisions; `truncated` says so.
        GET "/projects/{id}/context" as "GET /projects/:id/context" => ReadContext
    ),
    route!(
        /// Adds things to a project, all or none. A URL is saved to the library first; what is there already is told and not added twice.
        POST "/projects/{id}/items" as "POST /projects/:id/items" => AddItems, status |_| StatusCode::CREATED
    ),
    route!(
        /// Adds a note to a project; it is found by search.
        POST "/projects/{id}/notes" as "POST /projects/:id/notes" => AddNote, status |_| StatusCode::CREATED
    ),
    route!(
        /// Announces a file. Send its bytes to `putUrl` with `putHeaders` within 15 minutes, then complete the upload.
        POST "/uploads" as "POST /uploads" => ops::uploads::CreateUpload, status |_| StatusCode::CREATED
    ),
    route!(
        /// How far an upload is.
        GET "/uploads/{id}" as "GET /uploads/:id" => ops::uploads::ShowUpload
    ),
    route!(
        /// The bytes have been sent: the file becomes text in the background. Said again, it answers the same.
        POST "/uploads/{id}/complete" as "POST /uploads/:id/complete" => ops::uploads::CompleteUpload, status |_| StatusCode::ACCEPTED
    ),
    route!(
        /// What was used of the day, the hour, the month and the AI budget, this call included.
        GET "/usage" as "GET /usage" => ops::usage::ReadUsage
    ),
];
