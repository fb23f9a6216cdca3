//! The session's door: who the cookie names, and whether the request comes from our own pages.

use std::future::Future;
use std::pin::Pin;

use actix_web::cookie::{Cookie, SameSite, time::Duration as CookieAge};
use actix_web::http::header::ORIGIN;
use actix_web::http::{Method, StatusCode};
use actix_web::web::{Bytes, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use actors::app::App;
use actors::caller::Caller;
use actors::error::Error;
use actors::fields::{Field, Values};
use actors::keys::secret::Secret;
use actors::ops::target::Target;
use actors::perform::{Operation, perform_for};
use actors::sessions;

use crate::rest::{failure, success, takes_body, target, values, whole_body};

const COOKIE: &str = "carrel_session";

/// The answer of a handler.
pub type Answered = Pin<Box<dyn Future<Output = HttpResponse>>>;

/// One row of the table of routes.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The pattern, in actix-web's spelling.
    pub pattern: &'static str,
    /// What it takes, by the query for GET and DELETE and by the body otherwise.
    pub fields: &'static [Field],
    /// Answers a request.
    pub answer: fn(&'static Route, HttpRequest, Payload) -> Answered,
}

/// Mounts the table: each pattern once, with all its methods.
pub fn mount(config: &mut ServiceConfig, routes: &'static [Route]) {
    let mut patterns: Vec<&'static str> = Vec::new();
    for route in routes {
        if !patterns.contains(&route.pattern) {
            patterns.push(route.pattern);
        }
    }
    for pattern in patterns {
        let mut resource = Resource::new(pattern);
        let mut methods = Vec::new();
        for route in routes.iter().filter(|route| route.pattern == pattern) {
            methods.push(route.method.to_string());
            let handle = move |request, payload| (route.answer)(route, request, payload);
            resource = resource.route(web::method(route.method.clone()).to(handle));
        }
        config.service(resource.default_service(refuse(methods)));
    }
}

/// Answers for a path that there is not.
pub fn unknown() -> actix_web::Route {
    refuse(Vec::new())
}

fn refuse(methods: Vec<String>) -> actix_web::Route {
    web::to(move |request: HttpRequest| {
        let methods = methods.clone();
        async move {
            let app = app(&request);
            let error = if methods.is_empty() { Error::NotFound } else { Error::MethodNotAllowed(methods) };
            app.map_or_else(|| HttpResponse::InternalServerError().finish(), |app| failure(&request, &app, &error))
        }
    })
}

/// Answers by this operation, for the signed-in person.
pub async fn operation<O: Operation>(
    route: &'static Route,
    request: HttpRequest,
    payload: Payload,
    read: fn(&Target, Values) -> Result<O, Error>,
    status: fn(&O::Reply) -> StatusCode,
) -> HttpResponse {
    let Some(app) = app(&request) else { return HttpResponse::InternalServerError().finish() };
    match run(&app, route, &request, payload, read).await {
        Ok(reply) => success(&request, &app, status(&reply), &reply),
        Err(error) => failure(&request, &app, &error),
    }
}

async fn run<O: Operation>(
    app: &App,
    route: &'static Route,
    request: &HttpRequest,
    payload: Payload,
    read: fn(&Target, Values) -> Result<O, Error>,
) -> Result<O::Reply, Error> {
    own_origin(request, app)?;
    let caller = signed_in(request, app).await?;
    let asked = async || {
        let body = if takes_body(request) { whole_body(request, payload).await? } else { Bytes::new() };
        read(&target(request), values(request, route.fields, &body)?)
    };
    perform_for(app, &caller, asked).await
}

/// The service behind a request.
pub fn app(request: &HttpRequest) -> Option<Data<App>> {
    request.app_data::<Data<App>>().cloned()
}

/// Whoever the session's cookie names.
///
/// # Errors
/// [`Error::NotSignedIn`] without a living session.
pub async fn signed_in(request: &HttpRequest, app: &App) -> Result<Caller, Error> {
    let secret = session_secret(request).ok_or(Error::NotSignedIn)?;
    Ok(sessions::recognise(app, &secret).await?.0)
}

/// The secret in the session's cookie.
pub fn session_secret(request: &HttpRequest) -> Option<Secret> {
    Secret::parse_token(sessions::PREFIX, request.cookie(COOKIE)?.value())
}

/// Requests that change something must come from our own pages (contract.md, section 9): a browser says where from.
///
/// # Errors
/// [`Error::ForeignOrigin`].
pub fn own_origin(request: &HttpRequest, app: &App) -> Result<(), Error> {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return Ok(());
    }
    let said = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap_or("unreadable").to_owned());
    let own = said(ORIGIN.as_str()).is_none_or(|origin| origin == origin_of(&app.base_url));
    let site = said("Sec-Fetch-Site").is_none_or(|site| matches!(site.as_str(), "same-origin" | "none"));
    if own && site { Ok(()) } else { Err(Error::ForeignOrigin) }
}

/// Scheme, host and port of an address, as browsers say them.
fn origin_of(base_url: &str) -> String {
    url::Url::parse(base_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

/// The cookie of a session: not for scripts, not for other sites, and by https alone where the service has it.
pub fn cookie(app: &App, secret: &str) -> Cookie<'static> {
    let age = i64::try_from(sessions::LIFE.as_secs()).unwrap_or(i64::MAX);
    let made = Cookie::build(COOKIE, secret.to_owned()).path("/").http_only(true).same_site(SameSite::Lax);
    made.secure(app.base_url.starts_with("https:")).max_age(CookieAge::seconds(age)).finish()
}

/// The cookie that takes a session's away.
pub fn no_cookie(app: &App) -> Cookie<'static> {
    let mut gone = cookie(app, "");
    gone.set_max_age(CookieAge::ZERO);
    gone
}
