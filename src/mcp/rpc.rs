//! JSON-RPC 2.0 as MCP speaks it: one request or notification in, one answer out; no batches.

use std::fmt;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Number, Value, json};

use validation::parse_json;

/// The body is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// It is JSON, but no request.
pub const INVALID_REQUEST: i32 = -32600;
/// The method is not offered in this era.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// Parameters that the protocol itself asks for are missing or wrong; a tool's own arguments never end here.
pub const INVALID_PARAMS: i32 = -32602;
/// Something went wrong inside.
pub const INTERNAL_ERROR: i32 = -32603;

/// A request's id, given back as it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// A whole number.
    Number(Number),
    /// A text.
    Text(String),
}

/// What a body says.
#[derive(Debug)]
pub enum Message {
    /// It wants an answer.
    Request(Request),
    /// It wants none.
    Notification,
}

/// A request.
#[derive(Debug)]
pub struct Request {
    /// Its id.
    pub id: Id,
    /// What is asked for.
    pub method: String,
    /// The parameters; empty where there were none.
    pub params: Map<String, Value>,
}

/// A JSON-RPC error with the HTTP status that it is sent with.
#[derive(Debug)]
pub struct Failure {
    status: StatusCode,
    id: Option<Id>,
    code: i32,
    message: String,
    data: Option<Value>,
    headers: Vec<(HeaderName, String)>,
}

impl Failure {
    /// An error without an id: what MCP says where the request's could not be read.
    pub fn new(status: StatusCode, code: i32, message: impl fmt::Display) -> Self {
        Self { status, id: None, code, message: message.to_string(), data: None, headers: Vec::new() }
    }

    /// A bad request.
    pub fn bad(code: i32, message: impl fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// The same error, to the request with this id.
    pub fn to(mut self, id: Option<Id>) -> Self {
        self.id = id;
        self
    }

    /// The same error with more to read for a program.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The same error with a header.
    pub fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The answer that tells it.
    pub fn response(self) -> HttpResponse {
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
    pub(super) fn told(&self) -> (u16, i32) {
        (self.status.as_u16(), self.code)
    }
}

/// The answer to a request.
pub fn result(id: &Id, result: Value) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// Reads a body.
pub fn read(body: &[u8]) -> Result<Message, Failure> {
    let json = parse_json(body).map_err(|_| unreadable(body))?;
    let Value::Object(mut members) = json else {
        return Err(Failure::bad(
            INVALID_REQUEST,
            "the body must be one JSON-RPC message; batches are not supported",
        ));
    };
    let id = members.remove("id");
    let readable = id.clone().and_then(readable_id);
    let refused = |message: &str| Failure::bad(INVALID_REQUEST, message).to(readable.clone());
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(refused("jsonrpc must be the string 2.0"));
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return Err(refused("method must be a string"));
    };
    if id.is_none() {
        return Ok(Message::Notification);
    }
    let Some(id) = readable.clone() else {
        return Err(refused("id must be a string or a whole number"));
    };
    match members.remove("params") {
        None | Some(Value::Null) => Ok(Message::Request(Request { id, method, params: Map::new() })),
        Some(Value::Object(params)) => Ok(Message::Request(Request { id, method, params })),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(Failure::bad(INVALID_PARAMS, "params must be an object").to(Some(id)))
        }
    }
}

/// Repeated members are valid JSON that nobody should act on: two readers may see two different requests.
fn unreadable(body: &[u8]) -> Failure {
    match serde_json::from_slice::<Value>(body) {
        Ok(_) => Failure::bad(INVALID_REQUEST, "an object of the body has the same member twice"),
        Err(_) => Failure::bad(PARSE_ERROR, "the body is not valid JSON in UTF-8"),
    }
}

fn readable_id(id: Value) -> Option<Id> {
    match id {
        Value::String(text) => Some(Id::Text(text)),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(Id::Number(number)),
        Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &str) -> Request {
        match read(body.as_bytes()) {
            Ok(Message::Request(request)) => request,
            other => panic!("no request: {other:?}"),
        }
    }

    fn refused(body: &str) -> (u16, i32, Option<Id>) {
        let failure = read(body.as_bytes()).unwrap_err();
        (failure.status.as_u16(), failure.code, failure.id)
    }

    #[test]
    fn an_id_comes_back_as_it_came() {
        for id in ["7", "-1", "18446744073709551615", "\"text-id\"", "\"\""] {
            let read = request(&format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "ping"}}"#));
            assert_eq!(json!(read.id).to_string(), id);
        }
    }

    #[test]
    fn what_is_not_json_is_a_parse_error() {
        for body in ["", "{not json", "{} {}", "{\"a\": \"\\ud800\"}", &"[".repeat(10_000)] {
            assert_eq!(refused(body), (400, PARSE_ERROR, None), "{body:.20}");
        }
    }

    #[test]
    fn what_is_no_message_is_an_invalid_request_to_its_id() {
        let seven = Some(Id::Number(7.into()));
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
    fn parameters_are_an_object_or_nothing() {
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
    fn without_an_id_it_is_a_notification() {
        let body = br#"{"jsonrpc": "2.0", "method": "notifications/initialized", "params": 7}"#;
        assert!(matches!(read(body), Ok(Message::Notification)));
    }
}
