//! The table of REST v2 (spec.md: Endpoints).

use actors::ops;

use crate::http::table::{Route, route};

/// REST v2.
pub static ROUTES: &[Route] = &[
    route!(GET "/search" as "GET /search" => ops::search::Search),
    route!(GET "/documents/{id}" as "GET /documents/:id" => ops::document::ReadDocument),
    route!(GET "/documents/{id}/chunks" as "GET /documents/:id/chunks" => ops::chunks::ListChunks),
    route!(GET "/documents/{id}/transcript" as "GET /documents/:id/transcript" => ops::transcript::ReadTranscript),
    route!(GET "/usage" as "GET /usage" => ops::usage::ReadUsage),
];
