//! The envelope of every answer (spec.md: Conventions for REST; contract.md, section 2).

use std::time::Duration;

use actix_web::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::http::{ConnectionType, StatusCode};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use actors::context::OperationContext;
use errors::{Error, ErrorBody};
use actors::auth::limits::Quota;
use entity::time::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use tracing::error;

use super::error::status;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    timestamp: Timestamp,
    path: &'a str,
    method: &'a str,
    status_code: u16,
}

#[derive(Serialize)]
struct Success<'a, T: ?Sized> {
    success: bool,
    data: &'a T,
    meta: Meta<'a>,
}

#[derive(Serialize)]
struct Failure<'a> {
    success: bool,
    data: (),
    error: &'a RawValue,
    meta: Meta<'a>,
}

/// A success with its data.
pub fn success<T: Serialize + ?Sized>(
    request: &HttpRequest,
    ctx: &OperationContext,
    status: StatusCode,
    data: &T,
) -> HttpResponse {
    let body = Success { success: true, data, meta: meta(request, ctx, status) };
    json(status, &body)
}

/// A failure, with the headers that its error asks for.
pub fn failure(request: &HttpRequest, ctx: &OperationContext, error: &Error) -> HttpResponse {
    if let Error::Internal(_) = error {
        error!(cause = error.chain(), "a request failed inside");
    }
    let mut answer = told(request, ctx, status(error), &ErrorBody::from(error));
    let headers = answer.headers_mut();
    let mut add = |name, value: String| {
        if let Ok(value) = value.parse() {
            headers.insert(name, value);
        }
    };
    if let Some(wait) = error.retry_after() {
        add(RETRY_AFTER, seconds(wait).to_string());
    }
    if let Error::RateLimited(wait) = error {
        add(LIMIT, wait.limit.to_string());
        add(REMAINING, "0".to_owned());
        add(RESET, seconds(wait.reset).to_string());
    }
    if let Error::MethodNotAllowed(methods) = error {
        add(ALLOW, methods.join(", "));
    }
    if matches!(error, Error::KeyInvalid | Error::KeyInQuery) {
        add(WWW_AUTHENTICATE, "Bearer".to_owned());
    }
    if let Error::BodyTimeout = error {
        // The rest of the body is still to come: nothing after it can be told apart from it.
        answer.head_mut().set_connection_type(ConnectionType::Close);
    }
    answer
}

/// A failure whose `error` is there already.
pub fn told(request: &HttpRequest, ctx: &OperationContext, status: StatusCode, error: &impl Serialize) -> HttpResponse {
    match serde_json::value::to_raw_value(error) {
        Ok(error) => json(
            status,
            &Failure { success: false, data: (), error: &error, meta: meta(request, ctx, status) },
        ),
        Err(_) => HttpResponse::InternalServerError().finish(),
    }
}

use actix_web::http::header::HeaderName;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The limit headers of an admitted call.
pub fn limit(answer: &mut HttpResponse, quota: &Quota) {
    for (name, value) in [
        (LIMIT, u64::from(quota.limit)),
        (REMAINING, u64::from(quota.remaining)),
        (RESET, seconds(quota.reset).min(86_400)),
    ] {
        answer.headers_mut().insert(name, value.into());
    }
}

/// Whole seconds, rounded up: rounding down would send a client back too early.
pub fn seconds(wait: Duration) -> u64 {
    wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0))
}

fn meta<'a>(request: &'a HttpRequest, ctx: &OperationContext, status: StatusCode) -> Meta<'a> {
    Meta {
        timestamp: ctx.core.clock.now(),
        path: request.path(),
        method: request.method().as_str(),
        status_code: status.as_u16(),
    }
}

fn json(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    match serde_json::to_vec(body) {
        Ok(mut bytes) => {
            // The buffer grew by doubling: half of it may be spare, and would stand in memory while a slow reader takes the answer.
            bytes.shrink_to_fit();
            HttpResponseBuilder::new(status)
                .insert_header((CONTENT_TYPE, "application/json"))
                .insert_header((CACHE_CONTROL, "no-store"))
                .body(bytes)
        }
        Err(cause) => {
            error!(%cause, "an answer could not be written as JSON");
            HttpResponse::InternalServerError().finish()
        }
    }
}
