//! The session's door: who the cookie names, and whether the request comes from our own pages.

use actix_web::cookie::{Cookie, SameSite, time::Duration as CookieAge};
use actix_web::http::header::ORIGIN;
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Bytes, Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::auth::caller::Caller;
use errors::Error;
use validation::Values;
use actors::auth::secret::Secret;
use actors::operations::target::Target;
use actors::pipeline::{Operation, perform_for};
use actors::auth::sessions;

use crate::http::answer_turns::turn_wait;
use crate::http::budget::Sender;
use crate::http::table::Route;
use crate::rest::{failure, success, takes_body, target, values, whole, whole_body};

/// The session's cookie on http, where browsers refuse the prefix of [`HTTPS_COOKIE`].
const HTTP_COOKIE: &str = "carrel_session";
/// The session's cookie on https. By its prefix a browser takes it only from this very host, over https, for all paths: no
/// page of a neighbouring host can plant one. (draft-ietf-httpbis-rfc6265bis, 4.1.3.2; faults-and-threats, row C2)
const HTTPS_COOKIE: &str = "__Host-carrel_session";

/// Answers where there is no such route, or not with this method.
pub fn refuse(request: &HttpRequest, methods: Vec<String>) -> HttpResponse {
    let error = if methods.is_empty() { Error::UnknownRoute } else { Error::MethodNotAllowed(methods) };
    match app(request) {
        Some(ctx) => failure(request, &ctx, &error),
        None => HttpResponse::InternalServerError().finish(),
    }
}

/// Answers by this operation, for the signed-in person.
pub async fn operation<O: Operation>(
    route: &'static Route,
    request: HttpRequest,
    payload: Payload,
    read: fn(&Target, Values) -> Result<O, Error>,
    status: fn(&O::Reply) -> StatusCode,
) -> HttpResponse {
    whole(request.clone(), async move {
        let Some(ctx) = app(&request) else { return HttpResponse::InternalServerError().finish() };
        match run(&ctx, route, &request, payload, read).await {
            Ok(reply) => success(&request, &ctx, status(&reply), &reply),
            Err(error) => failure(&request, &ctx, &error),
        }
    })
    .await
}

async fn run<O: Operation>(
    ctx: &OperationContext,
    route: &'static Route,
    request: &HttpRequest,
    payload: Payload,
    read: fn(&Target, Values) -> Result<O, Error>,
) -> Result<O::Reply, Error> {
    own_origin(request, ctx)?;
    let caller = signed_in(request, ctx).await?;
    let asked = async || {
        let body =
            if takes_body(request) { whole_body(request, &caller, payload).await? } else { Bytes::new() };
        let operation = read(&target(request), values(request, route.fields, &body)?)?;
        if let Some(turn) = turn_wait::<O>(request, &caller) {
            turn.await?;
        }
        Ok::<O, Error>(operation)
    };
    perform_for(ctx, &caller, asked).await
}

/// The service behind a request.
pub fn app(request: &HttpRequest) -> Option<Data<OperationContext>> {
    request.app_data::<Data<OperationContext>>().cloned()
}

/// Whoever the session's cookie names.
///
/// # Errors
/// [`Error::NotSignedIn`] without a living session.
pub async fn signed_in(request: &HttpRequest, ctx: &OperationContext) -> Result<Caller, Error> {
    let secret = session_secret(request, ctx).ok_or(Error::NotSignedIn)?;
    let caller = sessions::recognise(ctx, &secret).await?.0;
    Sender::note(request, caller.user);
    Ok(caller)
}

/// The secret in the session's cookie.
pub fn session_secret(request: &HttpRequest, ctx: &OperationContext) -> Option<Secret> {
    Secret::parse_token(sessions::PREFIX, request.cookie(cookie_name(ctx))?.value())
}

fn cookie_name(ctx: &OperationContext) -> &'static str {
    if is_https(ctx) { HTTPS_COOKIE } else { HTTP_COOKIE }
}

/// Whether the world reaches the service over https.
fn is_https(ctx: &OperationContext) -> bool {
    ctx.core.base_url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}

/// Requests that change something must come from our own pages (contract.md, section 9): a browser says where from.
///
/// # Errors
/// [`Error::ForeignOrigin`].
pub fn own_origin(request: &HttpRequest, ctx: &OperationContext) -> Result<(), Error> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(());
    }
    let said = |name: &str| {
        request.headers().get(name).map(|value| value.to_str().unwrap_or("unreadable").to_owned())
    };
    let own = said(ORIGIN.as_str()).is_none_or(|origin| origin == origin_of(&ctx.core.base_url));
    let site = said("Sec-Fetch-Site").is_none_or(|site| matches!(site.as_str(), "same-origin" | "none"));
    if own && site { Ok(()) } else { Err(Error::ForeignOrigin) }
}

/// Scheme, host and port of an address, as browsers say them.
fn origin_of(base_url: &str) -> String {
    url::Url::parse(base_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// The cookie of a session: not for scripts, not for other sites, and by https alone where the service has it.
pub fn cookie(ctx: &OperationContext, secret: &str) -> Cookie<'static> {
    let age = i64::try_from(sessions::LIFE.as_secs()).unwrap_or(i64::MAX);
    let made = Cookie::build(cookie_name(ctx), secret.to_owned());
    let made = made.path("/").http_only(true).same_site(SameSite::Lax);
    made.secure(is_https(ctx)).max_age(CookieAge::seconds(age)).finish()
}

/// The cookie that takes a session's away.
pub fn no_cookie(ctx: &OperationContext) -> Cookie<'static> {
    let mut gone = cookie(ctx, "");
    gone.set_max_age(CookieAge::ZERO);
    gone
}
