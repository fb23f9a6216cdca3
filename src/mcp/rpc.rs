//! JSON-RPC 2.0 in the subset that MCP uses: one request or notification in, one response out; no batches.

use std::fmt;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Number, Value, json};
use tracing::error;
use validation::parse_json;

/// The body is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The body is JSON, but no JSON-RPC request, or the HTTP request around it cannot be served.
pub const INVALID_REQUEST: i32 = -32600;
/// The method does not exist in this generation.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// Parameters of the protocol itself are missing or wrong. Wrong arguments of a tool are reported in its result instead.
pub const INVALID_PARAMS: i32 = -32602;
/// The server failed; the message does not contain the cause.
pub const INTERNAL_ERROR: i32 = -32603;

/// The id of a request, which its response repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RpcId {
    /// An integer within 64 bits, signed or not.
    Number(Number),
    /// A string of any content, even an empty one.
    Text(String),
}

/// A message from a client.
#[derive(Debug)]
pub enum RpcMessage {
    /// A request, which is answered.
    Request(RpcRequest),
    /// A notification, which is not.
    Notification,
}

/// A request, whose parameters are not checked yet.
#[derive(Debug)]
pub struct RpcRequest {
    /// The id, which the response repeats.
    pub id: RpcId,
    /// The name of the method, which may be unknown.
    pub method: String,
    /// The parameters; empty if the request has none.
    pub params: Map<String, Value>,
}

/// A JSON-RPC error with the HTTP status that it is sent with.
#[derive(Debug)]
pub struct RpcError {
    status: StatusCode,
    id: Option<RpcId>,
    code: i32,
    message: String,
    data: Option<Value>,
    headers: Vec<(HeaderName, String)>,
}

impl RpcError {
    /// An error without an id, for a request whose id could not be read.
    pub fn new(status: StatusCode, code: i32, message: impl fmt::Display) -> Self {
        Self { status, id: None, code, message: message.to_string(), data: None, headers: Vec::new() }
    }

    /// Creates an error with the status 400 and without an id.
    pub fn bad_request(code: i32, message: impl fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// Makes the error the response to the request with this id; `None` if the id could not be read.
    pub fn with_id(mut self, id: Option<RpcId>) -> Self {
        self.id = id;
        self
    }

    /// Adds `data`, which clients read instead of the message.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Adds a header. A value that is not valid in a header is left out of the response.
    pub fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Makes the HTTP response. It has no `id` if none could be read.
    pub fn into_response(self) -> HttpResponse {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Some(members)) = (self.data, error.as_object_mut()) {
            members.insert("data".to_owned(), data);
        }
        let mut body = json!({ "jsonrpc": "2.0", "error": error });
        if let (Some(id), Some(members)) = (self.id, body.as_object_mut()) {
            members.insert("id".to_owned(), json!(id));
        }
        let mut response = HttpResponse::build(self.status).json(body);
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }

    #[cfg(test)]
    pub(super) fn status_and_code(&self) -> (u16, i32) {
        (self.status.as_u16(), self.code)
    }
}

/// A successful response.
#[derive(Serialize)]
struct SuccessMessage<'a, R> {
    jsonrpc: &'static str,
    id: &'a RpcId,
    result: &'a R,
}

/// Writes the successful response to the request with this id. `capacity` bytes are reserved for it.
///
/// # Errors
/// The error of serde_json when the result cannot be written as JSON.
pub fn write_success(id: &RpcId, result: &impl Serialize, capacity: usize) -> serde_json::Result<Vec<u8>> {
    let mut body = Vec::with_capacity(capacity);
    serde_json::to_writer(&mut body, &SuccessMessage { jsonrpc: "2.0", id, result })?;
    Ok(body)
}

/// Returns the HTTP response with this body.
pub fn into_response(body: serde_json::Result<Vec<u8>>) -> HttpResponse {
    match body {
        Ok(body) => HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, HeaderValue::from_static("application/json")))
            .body(body),
        Err(cause) => {
            error!(%cause, "could not write a response as JSON");
            HttpResponse::InternalServerError().finish()
        }
    }
}

/// Parses the body of a request.
///
/// # Errors
/// [`RpcError`] when the body is not one JSON-RPC message; the error has the id if that could be read.
pub fn parse(body: &[u8]) -> Result<RpcMessage, RpcError> {
    let json = parse_json(body).map_err(|_| parse_error(body))?;
    // Revision 2025-06-18 removed batches.
    let Value::Object(mut members) = json else {
        return Err(RpcError::bad_request(
            INVALID_REQUEST,
            "the body must be one JSON-RPC message; batches are not supported",
        ));
    };
    let id = members.remove("id");
    let is_notification = id.is_none();
    // Read before anything is refused, because the response to a refused request repeats its id.
    let id = id.and_then(parse_id);
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(RpcError::bad_request(INVALID_REQUEST, "jsonrpc must be the string 2.0").with_id(id));
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return Err(RpcError::bad_request(INVALID_REQUEST, "method must be a string").with_id(id));
    };
    // A notification is not answered, so nothing more of it is checked.
    if is_notification {
        return Ok(RpcMessage::Notification);
    }
    let Some(id) = id else {
        return Err(RpcError::bad_request(INVALID_REQUEST, "id must be a string or a whole number"));
    };
    match members.remove("params") {
        None | Some(Value::Null) => Ok(RpcMessage::Request(RpcRequest { id, method, params: Map::new() })),
        Some(Value::Object(params)) => Ok(RpcMessage::Request(RpcRequest { id, method, params })),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(RpcError::bad_request(INVALID_PARAMS, "params must be an object").with_id(Some(id)))
        }
    }
}

/// Tells a body that is not JSON from one with repeated members.
fn parse_error(body: &[u8]) -> RpcError {
    // Repeated members are valid JSON, but two parsers may see two different requests.
    match serde_json::from_slice::<Value>(body) {
        Ok(_) => RpcError::bad_request(INVALID_REQUEST, "an object of the body has the same member twice"),
        Err(_) => RpcError::bad_request(PARSE_ERROR, "the body is not valid JSON in UTF-8"),
    }
}

fn parse_id(id: Value) -> Option<RpcId> {
    match id {
        Value::String(text) => Some(RpcId::Text(text)),
        // `null` and fractions are refused: the specification allows only strings and integers.
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(RpcId::Number(number)),
        Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &str) -> RpcRequest {
        match parse(body.as_bytes()) {
            Ok(RpcMessage::Request(request)) => request,
            other => panic!("no request: {other:?}"),
        }
    }

    fn refused(body: &str) -> (u16, i32, Option<RpcId>) {
        let error = parse(body.as_bytes()).unwrap_err();
        (error.status.as_u16(), error.code, error.id)
    }

    #[test]
    fn id_is_repeated_as_it_was_sent() {
        for id in ["7", "-1", "18446744073709551615", "\"text-id\"", "\"\""] {
            let parsed = request(&format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "ping"}}"#));
            assert_eq!(json!(parsed.id).to_string(), id);
        }
    }

    #[test]
    fn body_that_is_not_json_is_a_parse_error() {
        for body in ["", "{not json", "{} {}", "{\"a\": \"\\ud800\"}", &"[".repeat(10_000)] {
            assert_eq!(refused(body), (400, PARSE_ERROR, None), "{body:.20}");
        }
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request() {
        let seven = Some(RpcId::Number(7.into()));
        for (body, id) in [
            ("[]", None),
            ("\"text\"", None),
            (r#"[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]"#, None),
            (r#"{"id": 7, "method": "ping"}"#, seven.clone()),
            (r#"{"jsonrpc": "1.0", "id": 7, "method": "ping"}"#, seven.clone()),
            (r#"{"jsonrpc": "2.0", "id": 7, "result": {}}"#, seven),
            (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, None),
            (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, None),
            (r#"{"jsonrpc": "2.0", "id": 7, "id": 8, "method": "ping"}"#, None),
        ] {
            assert_eq!(refused(body), (400, INVALID_REQUEST, id), "{body}");
        }
    }

    #[test]
    fn parameters_are_an_object_or_missing() {
        for params in ["", r#", "params": null"#, r#", "params": {}"#] {
            let body = format!(r#"{{"jsonrpc": "2.0", "id": 7, "method": "ping"{params}}}"#);
            assert!(request(&body).params.is_empty());
        }
        assert_eq!(
            refused(r#"{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": []}"#).1,
            INVALID_PARAMS
        );
    }

    #[test]
    fn message_without_an_id_is_a_notification() {
        let body = br#"{"jsonrpc": "2.0", "method": "notifications/initialized", "params": 7}"#;
        assert!(matches!(parse(body), Ok(RpcMessage::Notification)));
    }
}
