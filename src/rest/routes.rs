//! The table of REST v2 (spec.md: Endpoints).

use actix_web::http::{Method, StatusCode};
use actors::ops;

use super::handler::{Route, operation};

/// A row: method, pattern, name, operation, how it is read, the status of its reply.
macro_rules! route {
    ($method:ident $pattern:literal, $name:literal, $op:ty, $read:expr, $status:expr) => {
        Route {
            method: Method::$method,
            pattern: $pattern,
            name: $name,
            fields: <$op>::FIELDS,
            answer: |route, request, payload| Box::pin(operation::<$op>(route, request, payload, $read, $status)),
        }
    };
    ($method:ident $pattern:literal, $name:literal, $op:ty, $status:expr) => {
        route!($method $pattern, $name, $op, <$op>::read, $status)
    };
    ($method:ident $pattern:literal, $name:literal, $op:ty) => {
        route!($method $pattern, $name, $op, <$op>::read, |_| StatusCode::OK)
    };
}

pub(super) use route;

/// REST v2.
pub static ROUTES: &[Route] = &[
    route!(GET "/search", "GET /search", ops::search::Search),
    route!(GET "/documents/{id}", "GET /documents/:id", ops::document::ReadDocument),
    route!(GET "/documents/{id}/chunks", "GET /documents/:id/chunks", ops::chunks::ListChunks),
    route!(GET "/usage", "GET /usage", ops::usage::ReadUsage),
];
