//! The envelope of every JSON response of REST and the web app (spec.md: Conventions for REST; contract.md, section 2).

use actix_web::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use actix_web::http::{ConnectionType, StatusCode};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use actors::auth::limits::Quota;
use actors::context::OperationContext;
use errors::{Error, ErrorBody, HeaderRule, retry_after_seconds, whole_seconds};
use serde::Serialize;
use tracing::error;
use values::time::Timestamp;

use super::error::status;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
/// The largest number of seconds in [`RESET`] of a successful response: a day.
const MAX_RESET_SECONDS: u64 = 86_400;

/// Bytes that are reserved for a body before it is written: a page of 12,000 ASCII characters fits.
const INITIAL_BODY_BYTES: usize = 14 << 10;
/// Reserved bytes of a body that may stay unused while it is sent.
const MAX_SPARE_BYTES: usize = 1024;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResponseMeta<'a> {
    timestamp: Timestamp,
    path: &'a str,
    method: &'a str,
    status_code: u16,
}

#[derive(Serialize)]
struct SuccessEnvelope<'a, T: ?Sized> {
    success: bool,
    data: &'a T,
    meta: ResponseMeta<'a>,
}

/// The envelope of an error. `()` becomes the `null` of `data`.
#[derive(Serialize)]
struct FailureEnvelope<'a, E> {
    success: bool,
    data: (),
    error: &'a E,
    meta: ResponseMeta<'a>,
}

/// Returns a successful response with its data.
pub fn success<T: Serialize + ?Sized>(
    request: &HttpRequest,
    ctx: &OperationContext,
    status: StatusCode,
    data: &T,
) -> HttpResponse {
    let body = SuccessEnvelope { success: true, data, meta: meta(request, ctx, status) };
    json(status, &body)
}

/// Returns a failed response, with the headers that belong to its error. Logs the cause of an internal error.
pub fn failure(request: &HttpRequest, ctx: &OperationContext, error: &Error) -> HttpResponse {
    if error.spec().is_logged {
        error!(cause = error.chain(), "a request failed with an internal error");
    }
    let mut response = failure_with_body(request, ctx, status(error), &ErrorBody::from(error));
    let headers = response.headers_mut();
    let mut add = |name, value: String| {
        if let Ok(value) = value.parse() {
            headers.insert(name, value);
        }
    };
    if let Some(wait) = error.retry_after() {
        add(RETRY_AFTER, retry_after_seconds(wait).to_string());
    }
    match error.spec().headers {
        // A key that lacks the scope `mcp` is refused by the MCP server alone.
        HeaderRule::None | HeaderRule::McpScopeChallenge => {}
        // The challenge that a 401 for a bearer credential has (RFC 6750, section 3).
        HeaderRule::BearerChallenge => add(WWW_AUTHENTICATE, "Bearer".to_owned()),
        HeaderRule::Allow => add(ALLOW, error.methods().join(", ")),
        HeaderRule::RateLimit => {
            if let Some(exceeded) = error.rate_limit() {
                add(LIMIT, exceeded.limit.to_string());
                add(REMAINING, "0".to_owned());
                add(RESET, whole_seconds(exceeded.reset).to_string());
            }
        }
        // The rest of the body is still to come, so the start of a next request could not be found.
        HeaderRule::Close => response.head_mut().set_connection_type(ConnectionType::Close),
    }
    response
}

/// Returns a failed response with this `error`, such as the one that is stored under an Idempotency-Key.
pub fn failure_with_body(
    request: &HttpRequest,
    ctx: &OperationContext,
    status: StatusCode,
    error: &impl Serialize,
) -> HttpResponse {
    let body = FailureEnvelope { success: false, data: (), error, meta: meta(request, ctx, status) };
    json(status, &body)
}

/// Adds the headers of the limit that is nearest to its end (contract.md, section 2).
pub fn add_limit_headers(response: &mut HttpResponse, quota: &Quota) {
    for (name, value) in [
        (LIMIT, u64::from(quota.limit)),
        (REMAINING, u64::from(quota.remaining)),
        (RESET, whole_seconds(quota.reset).min(MAX_RESET_SECONDS)),
    ] {
        response.headers_mut().insert(name, value.into());
    }
}

fn meta<'a>(request: &'a HttpRequest, ctx: &OperationContext, status: StatusCode) -> ResponseMeta<'a> {
    ResponseMeta {
        timestamp: ctx.core.clock.now(),
        path: request.path(),
        method: request.method().as_str(),
        status_code: status.as_u16(),
    }
}

fn json(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    let mut bytes = Vec::with_capacity(INITIAL_BODY_BYTES);
    match serde_json::to_writer(&mut bytes, body) {
        Ok(()) => {
            // Much of the buffer may be spare, and would stay in memory while a slow client reads.
            if bytes.capacity() - bytes.len() > MAX_SPARE_BYTES {
                bytes.shrink_to_fit();
            }
            HttpResponseBuilder::new(status)
                .insert_header((CONTENT_TYPE, HeaderValue::from_static("application/json")))
                .insert_header((CACHE_CONTROL, HeaderValue::from_static("no-store")))
                .body(bytes)
        }
        Err(cause) => {
            error!(%cause, "could not write a response as JSON");
            HttpResponse::InternalServerError().finish()
        }
    }
}
