//! The table of REST v2 (spec.md: Endpoints).

use actix_web::http::StatusCode;
use actors::operations;
use actors::operations::projects::{AddItems, AddNote, ListProjects, ReadContext};

use crate::http::table::{Route, route};

/// REST v2.
pub static ROUTES: &[Route] = &[
    route!(
        /// Searches the library by meaning and by keywords. Returns the passages that match best, at most three of one document.
        GET "/search" as "GET /search" => ops::search::Search
    ),
    route!(
        /// Answers a question with the service's model, from the passages of the library that match best. Each `[n]` in the answer refers to `citations[n-1]`. A citation is `verified` if its quote was found in the passage.
        POST "/ask" as "POST /ask" => ops::ask::Ask
    ),
    route!(
        /// Returns a page of a document's text, with your tags, notes and highlights. To read the whole text, repeat the request with `offset` set to `nextOffset` until that is null. The text of saved pages is third-party content.
        GET "/documents/{id}" as "GET /documents/:id" => ops::document::ReadDocument
    ),
    route!(
        /// Lists the passages of a document in order, each with its offsets in the text, its page in a PDF and its time in a recording.
        GET "/documents/{id}/chunks" as "GET /documents/:id/chunks" => ops::chunks::ListChunks
    ),
    route!(
        /// Returns the timed transcript of a recording.
        GET "/documents/{id}/transcript" as "GET /documents/:id/transcript" => ops::transcript::ReadTranscript
    ),
    route!(
        /// Lists projects, most recently active first.
        GET "/projects" as "GET /projects" => ListProjects
    ),
    route!(
        /// Returns the instructions, decisions, notes and sources of a project. If they are longer than `maxChars`, sources are left out first, then passages, notes and decisions, and `truncated` is true.
        GET "/projects/{id}/context" as "GET /projects/:id/context" => ReadContext
    ),
    route!(
        /// Adds items to a project, all or none. A URL is saved to the library first. Items that the project already contains are returned in `alreadyPresent` and not added again.
        POST "/projects/{id}/items" as "POST /projects/:id/items" => AddItems, status |_| StatusCode::CREATED
    ),
    route!(
        /// Adds a note to a project. Notes are searchable.
        POST "/projects/{id}/notes" as "POST /projects/:id/notes" => AddNote, status |_| StatusCode::CREATED
    ),
    route!(
        /// Announces a file. Send it to `putUrl` by PUT with the headers in `putHeaders` before `expiresAt`, then complete the upload.
        POST "/uploads" as "POST /uploads" => ops::uploads::CreateUpload, status |_| StatusCode::CREATED
    ),
    route!(
        /// Returns the status of an upload.
        GET "/uploads/{id}" as "GET /uploads/:id" => ops::uploads::ShowUpload
    ),
    route!(
        /// Completes an upload after its file was sent. The text is extracted in the background. Idempotent.
        POST "/uploads/{id}/complete" as "POST /uploads/:id/complete" => ops::uploads::CompleteUpload, status |_| StatusCode::ACCEPTED
    ),
    route!(
        /// Returns the usage and the limits of the account and the key, including this request.
        GET "/usage" as "GET /usage" => ops::usage::ReadUsage
    ),
];
