//! What any page may ask, since it carries no cookie: metadata, registration, tokens, revocation. Answers are JSON, and a
//! page of any origin may read them, errors too.

use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, HeaderName, HeaderValue,
    PRAGMA,
};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use actors::app::App;
use actors::error::Error;
use serde_json::{Value, json};

use super::error::Refusal;
use crate::http::cors::{SHOWN, TAKEN};

/// How long an answer may be kept.
#[derive(Clone, Copy, Debug)]
pub enum Kept {
    /// Not at all: it holds a secret, or says something of one.
    Never,
    /// A while, by anybody.
    Public,
}

/// A JSON answer.
pub fn json(status: StatusCode, kept: Kept, body: &Value) -> HttpResponse {
    let mut response = HttpResponse::build(status).content_type("application/json").body(body.to_string());
    let mut set = |name: HeaderName, value: &'static str| {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    };
    match kept {
        Kept::Never => {
            set(CACHE_CONTROL, "no-store");
            set(PRAGMA, "no-cache");
        }
        Kept::Public => set(CACHE_CONTROL, "public, max-age=300"),
    }
    response
}

/// Answers a POST by `work`, a preflight by what is taken, and nothing else.
pub async fn post(
    request: &HttpRequest,
    work: impl Future<Output = Result<HttpResponse, Refusal>>,
) -> HttpResponse {
    let methods = "POST, OPTIONS";
    shared(match *request.method() {
        Method::OPTIONS => preflight(methods),
        Method::POST => work.await.unwrap_or_else(Refusal::response),
        _ => not_allowed(methods),
    })
}

/// Answers a GET or HEAD by a document, a preflight by what is taken, and nothing else.
pub fn document(request: &HttpRequest, document: impl FnOnce() -> HttpResponse) -> HttpResponse {
    let methods = "GET, HEAD, OPTIONS";
    shared(match *request.method() {
        Method::OPTIONS => preflight(methods),
        Method::GET | Method::HEAD => document(),
        _ => not_allowed(methods),
    })
}

/// Answers a request that is refused before its handler runs.
pub fn refused(_: &HttpRequest, _: &App, error: Error) -> HttpResponse {
    shared(Refusal::from(error).response())
}

/// Lets a page of any origin read the answer.
pub fn shared(mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(SHOWN));
    response
}

fn preflight(methods: &'static str) -> HttpResponse {
    let mut response = HttpResponse::new(StatusCode::NO_CONTENT);
    let headers = [
        (ALLOW, methods),
        (ACCESS_CONTROL_ALLOW_METHODS, methods),
        (ACCESS_CONTROL_ALLOW_HEADERS, TAKEN),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn not_allowed(methods: &'static str) -> HttpResponse {
    let body =
        json!({ "error": "invalid_request", "error_description": "the address does not have this method" });
    let mut response = json(StatusCode::METHOD_NOT_ALLOWED, Kept::Never, &body);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}
