//! The pages that users see: HTML that works without scripts, is never framed, never cached, loads nothing from other sites, and
//! sends no referrer.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderValue, LOCATION, REFERRER_POLICY, RETRY_AFTER,
};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::grants::redirect::with_query_params;
use actors::context::OperationContext;
use askama::Template;
use errors::{Error, PageText, retry_after_seconds};
use jiff::tz::TimeZone;
use library::context::CoreContext;
use tracing::error;
use values::kind::AppLanguage;
use values::time::Timestamp;

use super::error::{AuthorizationError, OAuthError};
use super::views::StopPage;
use crate::http::error::{message_sentence, status};
use crate::web::locale::Locale;
use crate::web::page::render::{RenderContext, render_with};

// Without `form-action`: Chromium applies it to every redirect after a form, also to the last one, to an
// app's own scheme.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Returns the language and the time zone of the pages for a browser.
pub fn locale_of(request: &HttpRequest, core: &CoreContext) -> Locale {
    Locale::of_browser(request, core.clock.now())
}

/// Returns a page in this language.
pub fn page(status: StatusCode, locale: &Locale, page: &impl Template) -> HttpResponse {
    match render_with(page, &RenderContext::of_public(locale.clone())) {
        Ok(html) => protect(HttpResponse::build(status).content_type("text/html; charset=utf-8").body(html)),
        Err(cause) => {
            error!(%cause, "could not render a page");
            protect(HttpResponse::InternalServerError().finish())
        }
    }
}

/// Returns a page that says why the request cannot continue. The texts are those of errors, which are in English.
pub fn stop(status: StatusCode, title: &str, text: &str) -> HttpResponse {
    let english = Locale {
        language: AppLanguage::English,
        is_pseudo: false,
        zone: TimeZone::UTC,
        now: Timestamp::from_millis(0),
    };
    page(status, &english, &StopPage { title, text })
}

/// Redirects the browser, which then sends a GET.
pub fn redirect(url: &str) -> HttpResponse {
    match HeaderValue::from_str(url) {
        Ok(url) => {
            // 303, never 307: a browser would repeat the form, with the password, to the target (RFC 9700, section
            // 4.12).
            let mut response = HttpResponse::new(StatusCode::SEE_OTHER);
            response.headers_mut().insert(LOCATION, url);
            protect(response)
        }
        Err(_) => failure(&Error::internal("a URL that is no valid header value")),
    }
}

/// Sends the browser back to a client with this response, the client's state and the issuer (RFC 9207).
pub fn send_response(
    core: &CoreContext,
    redirect_uri: &str,
    state: Option<&str>,
    response: &[(&str, &str)],
) -> HttpResponse {
    let mut params = response.to_vec();
    params.extend(state.map(|state| ("state", state)));
    // On errors too, so that a client can tell which server answered (RFC 9207, section 2).
    params.push(("iss", &core.base_url));
    redirect(&with_query_params(redirect_uri, &params))
}

/// Responds to a request for authorization that is refused.
pub fn refuse(core: &CoreContext, error: AuthorizationError) -> HttpResponse {
    match error {
        AuthorizationError::Page { title, text } => stop(StatusCode::BAD_REQUEST, title, &text),
        AuthorizationError::Redirect { redirect_uri, state, error } => {
            send_error(core, &redirect_uri, state.as_deref(), &error)
        }
        AuthorizationError::Internal(error) => failure(&error),
    }
}

/// Sends the user back to the client with an error (RFC 6749, section 4.1.2.1).
pub fn send_error(
    core: &CoreContext,
    redirect_uri: &str,
    state: Option<&str>,
    error: &OAuthError,
) -> HttpResponse {
    let description = error.to_string();
    send_response(core, redirect_uri, state, &[("error", error.code()), ("error_description", &description)])
}

/// Returns the page for too many requests from one IP address, which says how long to wait.
pub fn too_many_requests(error: &Error) -> HttpResponse {
    with_retry_after(stop(status(error), "Wait a moment", &message_sentence(error)), error)
}

/// Adds `Retry-After` to the response to an error that has a wait.
pub fn with_retry_after(mut response: HttpResponse, error: &Error) -> HttpResponse {
    if let Some(wait) = error.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, retry_after_seconds(wait).into());
    }
    response
}

/// Returns the page for an error that is not about OAuth. Logs the cause of an internal error.
pub fn failure(error: &Error) -> HttpResponse {
    let spec = error.spec();
    if !spec.is_temporary && !spec.is_logged {
        // A page checks its form itself, so that another error than these is a fault of the server.
        return failure(&Error::internal(error.chain()));
    }
    if spec.is_logged {
        error!(cause = error.chain(), "an OAuth page failed with an internal error");
    }
    let PageText { title, text } = spec.page;
    with_retry_after(stop(status(error), title, text), error)
}

/// Responds to a request that is refused before its handler runs.
pub fn refused(_: &HttpRequest, _: &OperationContext, error: Error) -> HttpResponse {
    failure(&error)
}

/// Returns the page for a form that was sent from another site, too late, or twice.
pub fn expired_form() -> HttpResponse {
    let text = "The form was already submitted, is too old, or was opened in another browser. Start again in the app that you want \
                to connect.";
    stop(StatusCode::FORBIDDEN, "This page has expired", text)
}

/// Adds the headers that keep a page out of caches and frames.
fn protect(mut response: HttpResponse) -> HttpResponse {
    let headers =
        // No referrer: the URL of the page has the request's `state`, and that of the next one may have a code.
        [(CACHE_CONTROL, "no-store"), (CONTENT_SECURITY_POLICY, POLICY), (REFERRER_POLICY, "no-referrer")];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn message_on_a_page_is_a_sentence_with_the_wait() {
        let limited = Error::TooManyFailures(Duration::from_secs(840));

        assert_eq!(message_sentence(&limited), "Too many attempts; try again in 840 seconds.");
        assert_eq!(
            message_sentence(&Error::WrongPassword),
            "Wrong e-mail address or password; check both, or ask the operator to set a new password."
        );
    }
}
