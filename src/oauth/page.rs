//! The pages that people see: HTML that works without scripts, is never framed, never cached, loads nothing from
//! elsewhere, and tells no other site where somebody came from.
//!
//! The policy has no `form-action`: browsers apply it to the whole chain of redirects after a form, also to an
//! application's own scheme at its end.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, LOCATION, REFERRER_POLICY, RETRY_AFTER,
};
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use errors::Error;
use actors::auth::grants::redirect::with_answer;
use askama::Template;
use tracing::error;

use super::error::{AuthorizationError, OAuthError, is_temporary};
use super::views::{Frame, Stop};
use crate::app::own_origin;
use crate::rest::{seconds, status};

const STYLE: &str = include_str!("style.css");
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Mounts what the pages load.
pub fn mount(config: &mut ServiceConfig) {
    config.route("/oauth/style.css", web::get().to(style));
}

async fn style() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/css; charset=utf-8")
        .insert_header((CACHE_CONTROL, "public, max-age=3600"))
        .body(STYLE)
}

/// A page with this heading.
pub fn page(status: StatusCode, title: &str, body: &impl Template) -> HttpResponse {
    let rendered = body.render().and_then(|body| Frame { title, body: &body }.render());
    match rendered {
        Ok(html) => guarded(HttpResponse::build(status).content_type("text/html; charset=utf-8").body(html)),
        Err(cause) => {
            error!(%cause, "a page could not be written");
            guarded(HttpResponse::InternalServerError().finish())
        }
    }
}

/// A page that says why it does not go on.
pub fn stop(status: StatusCode, title: &str, text: &str) -> HttpResponse {
    page(status, title, &Stop { text })
}

/// Goes on elsewhere, by GET whatever came before.
pub fn go(address: &str) -> HttpResponse {
    match HeaderValue::from_str(address) {
        Ok(address) => {
            let mut response = HttpResponse::new(StatusCode::SEE_OTHER);
            response.headers_mut().insert(LOCATION, address);
            guarded(response)
        }
        Err(_) => inside(&Error::internal("an address that fits no header")),
    }
}

/// Back to a client with this answer, its state and our name (RFC 9207).
pub fn back(ctx: &OperationContext, redirect_uri: &str, state: Option<&str>, answer: &[(&str, &str)]) -> HttpResponse {
    let mut all = answer.to_vec();
    all.extend(state.map(|state| ("state", state)));
    all.push(("iss", &ctx.core.base_url));
    go(&with_answer(redirect_uri, &all))
}

/// Answers a request for authorization that is refused.
pub fn refuse(ctx: &OperationContext, error: AuthorizationError) -> HttpResponse {
    match error {
        AuthorizationError::Page { title, text } => stop(StatusCode::BAD_REQUEST, title, &text),
        AuthorizationError::Redirect { redirect_uri, state, error } => {
            send_error(ctx, &redirect_uri, state.as_deref(), &error)
        }
        AuthorizationError::Internal(error) => inside(&error),
    }
}

/// Sends the user back to the client with an error (RFC 6749, section 4.1.2.1).
pub fn send_error(ctx: &OperationContext, redirect_uri: &str, state: Option<&str>, error: &OAuthError) -> HttpResponse {
    let description = error.to_string();
    back(ctx, redirect_uri, state, &[("error", error.code()), ("error_description", &description)])
}

/// Too many of these pages were opened from one address.
pub fn wait(wait: Duration) -> HttpResponse {
    let text = "This page was opened too often from your IP address. Try again in a moment.";
    later(stop(StatusCode::TOO_MANY_REQUESTS, "Wait a moment", text), wait)
}

fn later(mut response: HttpResponse, wait: Duration) -> HttpResponse {
    response.headers_mut().insert(RETRY_AFTER, seconds(wait).max(1).into());
    response
}

/// The page of an error that is not about OAuth.
pub fn inside(error: &Error) -> HttpResponse {
    if !is_temporary(error) {
        error!(cause = error.chain(), "an OAuth page failed inside");
        let text = "Try again. If this happens again, tell the operator of the service.";
        return stop(StatusCode::INTERNAL_SERVER_ERROR, "An internal error occurred", text);
    }
    let (title, text) = if let Error::StorageFull = error {
        ("Disk full", "The disk of the service is full. Its operator has to free some space.")
    } else if let Error::StorageFailed(_) = error {
        ("Storage failed", "The service could not use its storage. Try again later.")
    } else {
        ("Busy", "The service is busy. Try again in a moment.")
    };
    let response = stop(status(error), title, text);
    match error.retry_after() {
        Some(wait) => later(response, wait),
        None => response,
    }
}

/// Answers a request that is refused before its handler runs.
pub fn refused(_: &HttpRequest, _: &OperationContext, error: Error) -> HttpResponse {
    inside(&error)
}

/// Whether a form comes from our own pages. They send no referrer, and for that browsers say `Origin: null` even on the
/// way home; then the site that they name beside it counts.
pub fn is_our_form(request: &HttpRequest, ctx: &OperationContext) -> bool {
    let said = |name: &str| request.headers().get(name).map(HeaderValue::as_bytes);
    let nameless = said("Origin") == Some(b"null") && said("Sec-Fetch-Site") == Some(b"same-origin");
    nameless || own_origin(request, ctx).is_ok()
}

/// The form was sent from elsewhere, too late or twice.
pub fn stale() -> HttpResponse {
    let text = "It was answered already, is too old, or belongs to another browser. Start again in the app that you want \
                to connect.";
    stop(StatusCode::FORBIDDEN, "This page has expired", text)
}

fn guarded(mut response: HttpResponse) -> HttpResponse {
    let headers =
        [(CACHE_CONTROL, "no-store"), (CONTENT_SECURITY_POLICY, POLICY), (REFERRER_POLICY, "no-referrer")];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
