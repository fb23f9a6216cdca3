//! GET /oauth/authorize: the page on which a person signs in, or decides. Nothing is granted without their click, whatever
//! was granted before.

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::auth::caller::Principal;
use errors::Error;
use actors::auth::grants::{Browser, Request};
use actors::auth::secret::Secret;
use actors::auth::sessions;
use entity::user;

use super::page::{inside, page, refuse};
use super::params::Params;
use super::views::{Asking, Consent, SignIn};
use super::{consent, page, request, sign_in};
use crate::app::session_secret;
use crate::http::disk_floor::{self, BelowFloor};
use crate::http::peer;

/// A request with the longest state, address and resource fits many times over.
const LONGEST: usize = 16 * 1024;

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    let other = || {
        web::to(|| async {
            let text = "Start in the app that you want to connect.";
            page::stop(StatusCode::METHOD_NOT_ALLOWED, "This page is only for apps that connect", text)
        })
    };
    config
        // A stranger's request adds a row for its sign-in page, and one for an application that is new here.
        .service(
            disk_floor::resource("/oauth/authorize", BelowFloor::ServesSignedIn, page::refused)
                .route(web::get().to(authorize))
                .default_service(other()),
        )
        .service(
            disk_floor::resource("/oauth/sign-in", BelowFloor::ServesAll, page::refused)
                .route(web::post().to(sign_in::serve))
                .default_service(other()),
        )
        .service(
            disk_floor::resource("/oauth/consent", BelowFloor::ServesAll, page::refused)
                .route(web::post().to(consent::serve))
                .default_service(other()),
        );
}

async fn authorize(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    let params = Params::of(request.query_string().as_bytes());
    let asked = match request::read(&ctx, peer::address(&request), &params).await {
        Ok(asked) => asked,
        Err(error) => return refuse(&ctx, error),
    };
    // OpenID Connect's word for asking who it is, even if somebody is signed in.
    let anew = params.all("prompt").any(|prompt| prompt.split(' ').any(|word| word == "login"));
    match signed_in(&ctx, &request).await {
        Ok(Some((browser, person))) if !anew => decide(&ctx, &params, asked, browser, person).await,
        Ok(_) => first_sign_in(&ctx, &request, &params, &asked).await,
        Err(error) => inside(&error),
    }
}

async fn first_sign_in(ctx: &OperationContext, request: &HttpRequest, params: &Params, asked: &Request) -> HttpResponse {
    let query = going_on(params);
    if query.len() > LONGEST {
        let text = "It is longer than 16 KiB. Start again in the app that you want to connect.";
        return page::stop(StatusCode::URI_TOO_LONG, "This request is too long", text);
    }
    match ctx.grants.keep_sign_in(peer::address(request), query).await {
        Ok(ticket) => {
            sign_in_page(StatusCode::OK, asked, &SignInForm { ticket: &ticket, email: "", fault: None })
        }
        Err(Error::TooManyFailures(wait)) => page::wait(wait),
        Err(error) => inside(&error),
    }
}

/// The browser's session, where it has a living one.
pub async fn signed_in(ctx: &OperationContext, request: &HttpRequest) -> Result<Option<(Browser, user::Model)>, Error> {
    let Some(secret) = session_secret(request, ctx) else { return Ok(None) };
    match sessions::recognise(ctx, &secret).await {
        Ok((caller, person)) => match caller.principal {
            Principal::Session(session) => Ok(Some((Browser { user: person.id, session }, person))),
            Principal::Key(_) | Principal::App(_) => Ok(None),
        },
        Err(Error::NotSignedIn) => Ok(None),
        Err(other) => Err(other),
    }
}

/// What is read of a request. Anything else goes no further, and neither does `prompt`: once somebody has signed in, they
/// need not again.
const READ: [&str; 11] = [
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "request",
    "request_uri",
];

/// The request as a query to go on with.
fn going_on(params: &Params) -> String {
    params.query_of(&READ)
}

/// What a sign-in page shows beside who asks.
pub struct SignInForm<'a> {
    /// Stands for the request to go on with.
    pub ticket: &'a Secret,
    /// What was typed.
    pub email: &'a str,
    /// What was wrong with it.
    pub fault: Option<&'a str>,
}

/// The page for whoever is not signed in.
pub fn sign_in_page(status: StatusCode, asked: &Request, again: &SignInForm<'_>) -> HttpResponse {
    let SignInForm { ticket, email, fault } = *again;
    let asking = Asking::of(asked, None);
    page(status, "Sign in", &SignIn { asking, ticket: ticket.expose(), email, fault })
}

async fn decide(
    ctx: &OperationContext,
    params: &Params,
    asked: Request,
    browser: Browser,
    person: user::Model,
) -> HttpResponse {
    let (asking, offered) = (Asking::of(&asked, Some(person.plan)), asked.offered(person.plan));
    let ticket = match ctx.grants.ask(asked, browser, offered).await {
        Ok(ticket) => ticket,
        Err(error) => return inside(&error),
    };
    let other = format!("{}&prompt=login", going_on(params));
    let shown = Consent { asking, email: &person.email, ticket: ticket.expose(), other: &other };
    page(StatusCode::OK, "Connect an app", &shown)
}
