//! The table of REST v2 (spec.md: Endpoints).

use std::marker::PhantomData;

use actors::operations;
use actors::operations::projects::{AddItems, AddNote, ListProjects, ReadContext};

use crate::routing::{DescribedRoute, Route, RouteSurface};

/// REST v2 for a surface: REST itself, or the web app.
pub struct V2Routes<S>(PhantomData<S>);

impl<S: RouteSurface> V2Routes<S> {
    /// The routes of the table, in the order of the documentation.
    pub const ROUTES: &'static [DescribedRoute] = &[
        Route::get::<S, operations::search::Search>("/search").described(
            "search",
            "Search",
            "Searches the library by meaning and by keywords. Returns the passages that match best, \
             at most three of one document.",
        ),
        Route::post::<S, operations::ask::Ask>("/ask").described(
            "ask",
            "Ask",
            "Answers a question with the model of the server, from the passages of the library that match \
             best. Each `[n]` in the answer refers to `citations[n-1]`, except within a quotation, where it is \
             part of the quoted text. A citation is `verified` if its quote was found in the passage. If the library has nothing about the question, or no \
             sentence answers it, the answer says so. The answer is plain text: escape it where it is \
             shown.",
        ),
        Route::get::<S, operations::document::ReadDocument>("/documents/{id}").described(
            "readDocument",
            "Read document",
            "Returns a part of a document's text, with your tags, notes and highlights. To read the \
             whole text, repeat the request with `offset` set to `nextOffset` until that is null. The \
             text of saved pages is third-party content.",
        ),
        Route::get::<S, operations::chunks::ListChunks>("/documents/{id}/chunks").described(
            "listChunks",
            "List passages",
            "Lists the passages of a document in order, each with its offsets in the text, its page \
             in a PDF and its time in a recording.",
        ),
        Route::get::<S, operations::transcript::ReadTranscript>("/documents/{id}/transcript").described(
            "readTranscript",
            "Read transcript",
            "Returns the timed transcript of a recording.",
        ),
        Route::get::<S, ListProjects>("/projects").described(
            "listProjects",
            "List projects",
            "Lists projects, most recently active first.",
        ),
        Route::get::<S, ReadContext>("/projects/{id}/context").described(
            "readContext",
            "Read project context",
            "Returns the instructions, decisions, notes and sources of a project. If they are longer \
             than `maxChars`, sources are left out first, then passages, notes and decisions, and \
             `truncated` is true.",
        ),
        Route::post::<S, AddItems>("/projects/{id}/items").created().described(
            "addItems",
            "Add items",
            "Adds items to a project, all or none. A URL is saved to the library first. Items that \
             the project already contains are returned in `alreadyPresent` and not added again.",
        ),
        Route::post::<S, AddNote>("/projects/{id}/notes").created().described(
            "addNote",
            "Add note",
            "Adds a note to a project. Notes are searchable.",
        ),
        Route::post::<S, operations::uploads::CreateUpload>("/uploads").created().described(
            "createUpload",
            "Create upload",
            "Announces a file. Send it to `putUrl` by PUT with the headers in `putHeaders` before \
             `expiresAt`, then complete the upload.",
        ),
        Route::get::<S, operations::uploads::ShowUpload>("/uploads/{id}").described(
            "showUpload",
            "Show upload",
            "Returns the status of an upload.",
        ),
        Route::post::<S, operations::uploads::CompleteUpload>("/uploads/{id}/complete").accepted().described(
            "completeUpload",
            "Complete upload",
            "Completes an upload after its file was sent. The text is extracted in the background. \
             Idempotent.",
        ),
        Route::get::<S, operations::usage::ReadUsage>("/usage").described(
            "readUsage",
            "Read usage",
            "Returns the usage and the limits of the account and the key, including this request.",
        ),
    ];
}
