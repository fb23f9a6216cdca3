//! What any page may ask, since it carries no cookie: metadata, registration, tokens, revocation. Answers are JSON, and a
//! page of any origin may read them, errors too.

use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, HeaderName, HeaderValue,
    PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE,
};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use errors::Error;
use serde_json::{Value, json};
use tracing::error;

use super::error::OAuthError;
use crate::http::cors::{SHOWN, TAKEN};
use crate::rest::seconds;

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
    work: impl Future<Output = Result<HttpResponse, OAuthError>>,
) -> HttpResponse {
    let methods = "POST, OPTIONS";
    shared(match *request.method() {
        Method::OPTIONS => preflight(methods),
        Method::POST => work.await.unwrap_or_else(error_response),
        _ => error_response(OAuthError::MethodNotAllowed(methods)),
    })
}

/// Answers a GET or HEAD by a document, a preflight by what is taken, and nothing else.
pub fn document(request: &HttpRequest, document: impl FnOnce() -> HttpResponse) -> HttpResponse {
    let methods = "GET, HEAD, OPTIONS";
    shared(match *request.method() {
        Method::OPTIONS => preflight(methods),
        Method::GET | Method::HEAD => document(),
        _ => error_response(OAuthError::MethodNotAllowed(methods)),
    })
}

/// Answers a request that is refused before its handler runs.
pub fn refused(_: &HttpRequest, _: &OperationContext, error: Error) -> HttpResponse {
    shared(error_response(error.into()))
}

/// Answers a client with an error (RFC 6749, section 5.2).
fn error_response(error: OAuthError) -> HttpResponse {
    let body = json!({ "error": error.code(), "error_description": error.to_string() });
    let mut response = json(error.status(), Kept::Never, &body);
    let headers = response.headers_mut();
    if let Some(wait) = error.retry_after() {
        headers.insert(RETRY_AFTER, seconds(wait).max(1).into());
    }
    if let OAuthError::InvalidClient { by_header: true } = error {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"carrel\""));
    }
    if let OAuthError::MethodNotAllowed(methods) = error {
        headers.insert(ALLOW, HeaderValue::from_static(methods));
    }
    if error.status() == StatusCode::INTERNAL_SERVER_ERROR
        && let OAuthError::Internal(cause) = error
    {
        error!(cause = cause.chain(), "an OAuth request failed inside");
    }
    response
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use errors::StorageFailure;

    use super::*;
    use crate::oauth::page;

    /// Of the fault table (row 5).
    #[test]
    fn storage_faults_are_answered_with_retry_after() {
        for (error, status, wait) in [
            (Error::StorageFull, 507, "60"),
            (Error::StorageFailed(StorageFailure::Passing), 503, "5"),
            (Error::StorageFailed(StorageFailure::Removed), 503, "60"),
            (Error::Busy(Duration::from_secs(1)), 503, "1"),
        ] {
            for response in [page::inside(&error), error_response(error.into())] {
                assert_eq!(response.status().as_u16(), status);
                assert_eq!(response.headers().get(RETRY_AFTER).unwrap(), wait);
            }
        }
    }

    #[test]
    fn failed_authentication_by_header_is_challenged() {
        let by_header = error_response(OAuthError::InvalidClient { by_header: true });
        let by_body = error_response(OAuthError::InvalidClient { by_header: false });

        assert!(by_header.headers().contains_key(WWW_AUTHENTICATE));
        assert!(!by_body.headers().contains_key(WWW_AUTHENTICATE));
    }

    #[test]
    fn unsupported_method_is_answered_with_allow() {
        let response = error_response(OAuthError::MethodNotAllowed("POST, OPTIONS"));

        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(response.headers().get(ALLOW).unwrap(), "POST, OPTIONS");
    }
}
