//! Pages for errors: what happened, what to do, and for faults of the server the id of the request. They need no database.

use actix_web::http::header::{ACCEPT, ALLOW, HeaderValue, LOCATION, RETRY_AFTER};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use askama::Template;
use errors::{Error, retry_after_seconds};
use tracing::error;
use values::kind::AppLanguage;

use super::headers::{CARREL_LOCATION, PageCaching, protect};
use super::public::PublicRequest;
use super::render::{RenderContext, render_with, requested_parts};
use super::state::WebState;
use crate::http::error::{message_sentence, status};
use crate::http::log::RequestId;
use crate::http::methods::takes_body;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::reasons::error_sentence;
use crate::web::strings::MessageValue;

/// An error in the words of a page.
#[derive(Clone, Debug)]
pub struct ErrorText {
    /// The heading.
    pub title: String,
    /// What happened and what to do.
    pub text: String,
}

/// The page of an error.
#[derive(Template)]
#[template(path = "layout/error.html")]
struct ErrorPage<'a> {
    text: &'a ErrorText,
    icon: &'static str,
    request_id: Option<&'a str>,
    /// Whether an item was asked for that may be in the trash.
    is_missing: bool,
}

/// The message of an error for a script, which shows it as a toast.
#[derive(Template)]
#[template(path = "partials/error_toast.html")]
struct ErrorToast<'a> {
    text: &'a ErrorText,
}

/// Responds to a request by the page of an error. Logs the cause of an internal one.
pub fn respond_to(request: &HttpRequest, error: &Error) -> HttpResponse {
    if let Error::NotSignedIn = error {
        return sign_in_first(request);
    }
    if error.spec().is_logged {
        error!(cause = error.chain(), "a page failed with an internal error");
    }
    let context = context_of(request);
    let text = error_text(&context.locale, error);
    let mut response = error_response(request, error, &text, &context);
    let headers = response.headers_mut();
    if let Some(wait) = error.retry_after() {
        headers.insert(RETRY_AFTER, retry_after_seconds(wait).into());
    }
    if let Error::MethodNotAllowed(methods) = error
        && let Ok(methods) = HeaderValue::from_str(&methods.join(", "))
    {
        headers.insert(ALLOW, methods);
    }
    response
}

/// Responds to a request for a path that nothing serves: by a page for browsers, and without a body for programs.
pub async fn not_found(request: HttpRequest) -> HttpResponse {
    let accepts = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !accepts.contains("text/html") {
        return HttpResponse::NotFound().finish();
    }
    // The language and theme of the user, if the request has a session; an error of that is no reason for another page.
    if let Ok(public) = PublicRequest::new(request.clone(), "")
        && let Err(error) = super::request::PageRequest::sign_in(public).await
        && error.spec().is_logged
    {
        error!(cause = error.chain(), "could not find the session of a request");
    }
    let mut response = respond_to(&request, &Error::UnknownRoute);
    if let Ok(state) = WebState::of(&request) {
        protect(&mut response, &state.policy, PageCaching::Revalidated);
    }
    response
}

/// Returns the words for an error: those of its variant, or else of its code, or else of its status.
pub fn error_text(locale: &Locale, error: &Error) -> ErrorText {
    let spec = error.spec();
    let code = spec.code.to_ascii_lowercase().replace('_', "-");
    let group = match spec.status {
        400 | 413 | 415 | 422 => "invalid",
        401 | 403 => "forbidden",
        402 => "plan",
        404 | 405 => "not-found",
        409 => "conflict",
        410 => "gone",
        408 | 429 => "too-many",
        503 => "busy",
        507 => "full",
        _ => "internal",
    };
    let wait = error.retry_after().map(|wait| i64::try_from(retry_after_seconds(wait)).unwrap_or(i64::MAX));
    let wait = locale.duration(wait.unwrap_or(1));
    let find = |part: &str| {
        let (own, general) = (format!("error-{code}-{part}"), format!("error-{group}-{part}"));
        let key = if crate::web::strings::has_message(&own) { own } else { general };
        locale.t_with(&key, &[("wait", MessageValue::Text(wait.clone()))])
    };
    // The message of the error is in English and says more than that of its code: what is in the way, and its numbers.
    let is_specific = matches!(spec.status, 400 | 402 | 409 | 410 | 413 | 415 | 422);
    let text = match error_sentence(locale, error) {
        Some(sentence) => sentence,
        None if is_specific && locale.language == AppLanguage::English => message_sentence(error),
        None => find("text"),
    };
    ErrorText { title: find("title"), text }
}

fn error_response(
    request: &HttpRequest,
    error: &Error,
    text: &ErrorText,
    context: &RenderContext,
) -> HttpResponse {
    let status = status(error);
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone());
    let rendered = if requested_parts(request).is_empty() {
        let icon = match status.as_u16() {
            404 | 405 | 410 => "fit",
            401 | 403 => "lock",
            408 | 429 | 503 => "clock",
            _ => "tools",
        };
        let is_fault = status.is_server_error();
        let page = ErrorPage {
            text,
            icon,
            request_id: id.as_deref().filter(|_| is_fault),
            is_missing: matches!(error, Error::NotFound(_)),
        };
        render_with(&page, context)
    } else {
        render_with(&ErrorToast { text }, context)
    };
    match rendered {
        Ok(html) => HttpResponse::build(status).content_type("text/html; charset=utf-8").body(html),
        Err(cause) => {
            error!(%cause, "the page of an error could not be rendered");
            HttpResponse::build(status).finish()
        }
    }
}

/// Sends the user to the sign-in page, and back afterwards. A script learns it by 401, because it would take the page for the parts.
fn sign_in_first(request: &HttpRequest) -> HttpResponse {
    let next = if takes_body(request.method()) {
        "/".to_owned()
    } else {
        request.uri().path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string)
    };
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", &next).finish();
    let path = if next == "/" { "/sign-in".to_owned() } else { format!("/sign-in?{query}") };
    if requested_parts(request).is_empty() {
        return HttpResponse::SeeOther().insert_header((LOCATION, path)).finish();
    }
    HttpResponse::Unauthorized().insert_header((CARREL_LOCATION, path)).finish()
}

/// Returns the context that the page was given, or that of a browser without a session.
fn context_of(request: &HttpRequest) -> RenderContext {
    let noted = request.extensions().get::<RenderContext>().cloned();
    noted.unwrap_or_else(|| {
        RenderContext::of_public(Locale::of_browser(request, values::time::Timestamp::from_millis(0)))
    })
}
