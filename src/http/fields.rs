//! The parameters of a request: the variable parts of its path, and its fields in the query or in a JSON body.

use std::borrow::Cow;

use actix_web::HttpRequest;
use actix_web::web::{Bytes, Payload};
use actors::auth::caller::Caller;
use actors::target::Target;
use errors::Error;
use serde_json::Map;
use validation::{Invalid, NoFields, Request, read_json, read_object, read_query};

use super::body;
use super::budget::Sender;
use super::methods::takes_body;

/// Reads the body if the request takes one. It must be JSON, unless it is empty.
///
/// # Errors
/// What those of [`body::read_body`] convert to; [`Error::UnsupportedType`] if it is not JSON.
pub async fn read_body(request: &HttpRequest, caller: &Caller, payload: Payload) -> Result<Bytes, Error> {
    if !takes_body(request.method()) {
        return Ok(Bytes::new());
    }
    let sender = Sender::Account(caller.user);
    let body = body::read_body(request, payload, sender, body::max_json_bytes(request)).await?;
    if !body.is_empty() {
        body::require_json(request)?;
    }
    Ok(body)
}

/// Reads the fields of a request from the query, or from the body; then the query must be empty. A missing body is like an
/// empty object if no field is required.
///
/// # Errors
/// [`Invalid`] with every fault of the query and of the body together.
pub fn read_fields<R: Request>(request: &HttpRequest, body: &[u8]) -> Result<R, Invalid> {
    if !takes_body(request.method()) {
        return read_query(request.query_string());
    }
    let query = read_query::<NoFields>(request.query_string());
    let body =
        // If a field is required, the fault is that the body is not JSON, not a list of all missing fields.
        if body.is_empty() { read_object(Map::new()).or_else(|_| read_json(body)) } else { read_json(body) };
    Invalid::together(query, body).map(|(_, body)| body)
}

/// Returns the variable parts of the path of a request that matched this pattern of a route, in order, percent-decoded once. A part
/// that is not UTF-8 becomes empty, and then names nothing.
pub fn target(request: &HttpRequest, pattern: &str) -> Target {
    // Not `match_info`: its parts are decoded but for `%2F`, `%25` and `%2B`, so they are neither plain nor as sent. From the end,
    // because the pattern lacks the prefix of the scope in which the route is mounted.
    let parts = pattern.rsplit('/').zip(request.uri().path().rsplit('/'));
    let variable = parts.filter(|(pattern, _)| pattern.starts_with('{'));
    let decoded = variable.map(|(_, part)| {
        percent_encoding::percent_decode_str(part).decode_utf8().map(Cow::into_owned).unwrap_or_default()
    });
    let mut parts: Vec<String> = decoded.collect();
    parts.reverse();
    Target(parts)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn variable_parts_of_a_path_are_decoded_in_order() {
        let request = TestRequest::with_uri("/rest/v1/projects/a%20b/items/%252F?x=y/z").to_http_request();

        let Target(parts) = target(&request, "/projects/{projectId}/items/{itemId}");

        assert_eq!(parts, ["a b", "%2F"]);
        assert!(target(&request, "/items/none").0.is_empty());
    }
}
