//! The table of REST v2 (spec.md: Endpoints).

use std::marker::PhantomData;

use actix_web::http::StatusCode;
use actors::operations;
use actors::operations::projects::{AddItems, AddNote, ListProjects, ReadContext};

use crate::routing::{Route, RouteSurface, route};

/// REST v2 for a surface: REST itself, or the web app.
pub struct V2Routes<S>(PhantomData<S>);

impl<S: RouteSurface> V2Routes<S> {
    /// The routes of the table, in the order of the documentation.
    pub const ROUTES: &'static [Route] = &[
        route!(
            S,
            /// Searches the library by meaning and by keywords. Returns the passages that match best, at most three of one document.
            GET "/search" as "GET /search" => operations::search::Search
        ),
        route!(
            S,
            /// Answers a question with the service's model, from the passages of the library that match best. Each `[n]` in the answer refers to `citations[n-1]`. A citation is `verified` if its quote was found in the passage.
            POST "/ask" as "POST /ask" => operations::ask::Ask
        ),
        route!(
            S,
            /// Returns a page of a document's text, with your tags, notes and highlights. To read the whole text, repeat the request with `offset` set to `nextOffset` until that is null. The text of saved pages is third-party content.
            GET "/documents/{id}" as "GET /documents/:id" => operations::document::ReadDocument
        ),
        route!(
            S,
            /// Lists the passages of a document in order, each with its offsets in the text, its page in a PDF and its time in a recording.
            GET "/documents/{id}/chunks" as "GET /documents/:id/chunks" => operations::chunks::ListChunks
        ),
        route!(
            S,
            /// Returns the timed transcript of a recording.
            GET "/documents/{id}/transcript" as "GET /documents/:id/transcript" => operations::transcript::ReadTranscript
        ),
        route!(
            S,
            /// Lists projects, most recently active first.
            GET "/projects" as "GET /projects" => ListProjects
        ),
        route!(
            S,
            /// Returns the instructions, decisions, notes and sources of a project. If they are longer than `maxChars`, sources are left out first, then passages, notes and decisions, and `truncated` is true.
            GET "/projects/{id}/context" as "GET /projects/:id/context" => ReadContext
        ),
        route!(
            S,
            /// Adds items to a project, all or none. A URL is saved to the library first. Items that the project already contains are returned in `alreadyPresent` and not added again.
            POST "/projects/{id}/items" as "POST /projects/:id/items" => AddItems, status |_| StatusCode::CREATED
        ),
        route!(
            S,
            /// Adds a note to a project. Notes are searchable.
            POST "/projects/{id}/notes" as "POST /projects/:id/notes" => AddNote, status |_| StatusCode::CREATED
        ),
        route!(
            S,
            /// Announces a file. Send it to `putUrl` by PUT with the headers in `putHeaders` before `expiresAt`, then complete the upload.
            POST "/uploads" as "POST /uploads" => operations::uploads::CreateUpload, status |_| StatusCode::CREATED
        ),
        route!(
            S,
            /// Returns the status of an upload.
            GET "/uploads/{id}" as "GET /uploads/:id" => operations::uploads::ShowUpload
        ),
        route!(
            S,
            /// Completes an upload after its file was sent. The text is extracted in the background. Idempotent.
            POST "/uploads/{id}/complete" as "POST /uploads/:id/complete" => operations::uploads::CompleteUpload, status |_| StatusCode::ACCEPTED
        ),
        route!(
            S,
            /// Returns the usage and the limits of the account and the key, including this request.
            GET "/usage" as "GET /usage" => operations::usage::ReadUsage
        ),
    ];
}
