//! The endpoints that use no cookie, so that pages of every origin may use them: metadata, registration, tokens, revocation. The
//! responses are JSON, and every origin may read them, also errors.

use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, HeaderName, HeaderValue,
    PRAGMA, RETRY_AFTER, WWW_AUTHENTICATE,
};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use errors::{Error, retry_after_seconds};
use serde_json::{Value, json};
use tracing::error;

use super::error::OAuthError;
use crate::http::cors::{ALLOWED_HEADERS, EXPOSED_HEADERS};

/// The permission for caches to store a response. Some proxies store responses that say nothing about it, also a 401.
#[derive(Clone, Copy, Debug)]
pub enum CacheControl {
    /// No: the response contains a secret, or depends on one.
    NoStore,
    /// By every cache, for five minutes: the response is the same for all clients.
    Public,
}

/// A JSON response with this status, and with the headers that allow or forbid caching.
pub fn json(status: StatusCode, cache: CacheControl, body: &Value) -> HttpResponse {
    let mut response = HttpResponse::build(status).content_type("application/json").body(body.to_string());
    let mut set = |name: HeaderName, value: &'static str| {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    };
    match cache {
        CacheControl::NoStore => {
            // RFC 6749, section 5.1, requires both headers on responses that contain tokens.
            set(CACHE_CONTROL, "no-store");
            set(PRAGMA, "no-cache");
        }
        CacheControl::Public => set(CACHE_CONTROL, "public, max-age=300"),
    }
    response
}

/// Responds to a POST by `work` and to a preflight by what is allowed. Other methods are refused.
pub async fn post(
    request: &HttpRequest,
    work: impl Future<Output = Result<HttpResponse, OAuthError>>,
) -> HttpResponse {
    let methods = "POST, OPTIONS";
    share(match *request.method() {
        Method::OPTIONS => preflight(methods),
        Method::POST => work.await.unwrap_or_else(error_response),
        _ => error_response(OAuthError::MethodNotAllowed(methods)),
    })
}

/// Responds to a GET or HEAD with a document and to a preflight by what is allowed. Other methods are refused.
pub fn document(request: &HttpRequest, document: impl FnOnce() -> HttpResponse) -> HttpResponse {
    let methods = "GET, HEAD, OPTIONS";
    share(match *request.method() {
        Method::OPTIONS => preflight(methods),
        Method::GET | Method::HEAD => document(),
        _ => error_response(OAuthError::MethodNotAllowed(methods)),
    })
}

/// Responds to a request that is refused before its handler runs.
pub fn refused(_: &HttpRequest, _: &OperationContext, error: Error) -> HttpResponse {
    share(error_response(error.into()))
}

/// An error as JSON (RFC 6749, section 5.2).
fn error_response(error: OAuthError) -> HttpResponse {
    let body = json!({ "error": error.code(), "error_description": error.to_string() });
    let mut response = json(error.status(), CacheControl::NoStore, &body);
    let headers = response.headers_mut();
    if let Some(wait) = error.retry_after() {
        headers.insert(RETRY_AFTER, retry_after_seconds(wait).into());
    }
    // RFC 6749, section 5.2: the challenge is required if the client sent `Authorization`, with the scheme that it
    // used.
    if let OAuthError::InvalidClient { by_header: true } = error {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"carrel\""));
    }
    if let OAuthError::MethodNotAllowed(methods) = error {
        headers.insert(ALLOW, HeaderValue::from_static(methods));
    }
    if let OAuthError::Internal(cause) = error
        && cause.spec().is_logged
    {
        error!(cause = cause.chain(), "an OAuth request failed with an internal error");
    }
    response
}

/// Lets pages of every origin read the response.
fn share(mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers_mut();
    // `*` is safe here: no cookie authenticates these requests, and a browser sends none without `Allow-Credentials`.
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    response
}

fn preflight(methods: &'static str) -> HttpResponse {
    // A browser sends a preflight without credentials, and gives up on the request if it is refused.
    let mut response = HttpResponse::new(StatusCode::NO_CONTENT);
    let headers = [
        (ALLOW, methods),
        (ACCESS_CONTROL_ALLOW_METHODS, methods),
        (ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
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

    /// Covers the fault table (row 5).
    #[test]
    fn storage_faults_are_answered_with_retry_after() {
        for (error, status, wait) in [
            (Error::StorageFull, 507, "60"),
            (Error::StorageFailed(StorageFailure::Transient), 503, "5"),
            (Error::StorageFailed(StorageFailure::Removed), 503, "60"),
            (Error::Busy(Duration::from_secs(1)), 503, "1"),
        ] {
            for response in [page::failure(&error), error_response(error.into())] {
                assert_eq!(response.status().as_u16(), status);
                assert_eq!(response.headers().get(RETRY_AFTER).unwrap(), wait);
            }
        }
    }

    #[test]
    fn unexpected_error_is_answered_as_internal() {
        for response in [page::failure(&Error::not_found()), error_response(Error::not_found().into())] {
            assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert!(!response.headers().contains_key(RETRY_AFTER));
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
