//! Signing in and out.

use actix_web::HttpResponse;
use actix_web::http::header::RETRY_AFTER;
use actors::auth::accounts;
use askama::Template;
use errors::{Error, retry_after_seconds};

use crate::http::account::{self, StartedSession};
use crate::http::session::{authenticate, cookie, expired_cookie, forget_pages, session_secret};
use crate::parts;
use crate::web::filters;
use crate::web::page::faults::FormFaults;
use crate::web::page::fields::own_path;
use crate::web::page::public::PublicRequest;

/// The page on which a user signs in.
#[derive(Template)]
#[template(path = "gate/sign_in.html")]
struct SignInView<'a> {
    email: &'a str,
    /// The page that follows.
    next: &'a str,
    faults: FormFaults,
    has_sign_up: bool,
    host: String,
}

parts!(SignInView<'_> {});

/// Shows the form. Redirects a user who is signed in, and to the set-up page while there is no account.
pub async fn show_sign_in(request: PublicRequest) -> Result<HttpResponse, Error> {
    let next = next_page(&request);
    match authenticate(&request.http, &request.ctx.auth).await {
        Ok(_) => return Ok(request.redirect(&next)),
        Err(Error::NotSignedIn) => {}
        Err(error) => return Err(error),
    }
    if !accounts::has_any(&request.ctx.core).await? {
        return Ok(request.redirect("/setup"));
    }
    request.show(&sign_in_form(&request, &next, FormFaults::default()))
}

/// Signs the user in, or shows the form with what is wrong.
pub async fn sign_in(request: PublicRequest) -> Result<HttpResponse, Error> {
    let next = next_page(&request);
    let read = async || Ok(request.form.read_as(&["email", "password"])?);
    match account::sign_in(&request.http, &request.ctx, read).await {
        Ok(started) => begin(&request, &started, &next),
        Err(error) => {
            let wait = error.retry_after();
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            let mut response = request.show_with_status(status, &sign_in_form(&request, &next, faults))?;
            if let Some(wait) = wait {
                response.headers_mut().insert(RETRY_AFTER, retry_after_seconds(wait).into());
            }
            Ok(response)
        }
    }
}

/// Ends the session. The browser keeps nothing of the pages that it showed.
pub async fn sign_out(request: PublicRequest) -> Result<HttpResponse, Error> {
    match account::sign_out(&request.http, &request.ctx).await {
        // A session that has ended already is no reason to keep the cookie.
        Ok(()) | Err(Error::NotSignedIn) => {}
        Err(error) => return Err(error),
    }
    let mut response = request.redirect("/sign-in");
    let cookie = expired_cookie(&request.ctx.core);
    response.add_cookie(&cookie).map_err(|error| Error::internal(error.to_string()))?;
    forget_pages(&mut response);
    Ok(response)
}

/// Sends the browser to the first page of a session.
pub fn begin(request: &PublicRequest, started: &StartedSession, next: &str) -> Result<HttpResponse, Error> {
    let mut response = request.redirect(next);
    let core = &request.ctx.core;
    let cookie = cookie(core, &started.secret);
    response.add_cookie(&cookie).map_err(|error| Error::internal(error.to_string()))?;
    if session_secret(&request.http, core).is_some() {
        // A form that was open before: what the browser keeps is of the user who was signed in then.
        forget_pages(&mut response);
    }
    Ok(response)
}

/// Returns the page that follows a sign-in: an own one that the form or the address names, or Home.
pub fn next_page(request: &PublicRequest) -> String {
    let named = request.form.get("next").or_else(|| request.query.get("next"));
    named.and_then(own_path).map_or_else(|| "/".to_owned(), std::borrow::Cow::into_owned)
}

/// Returns the host of the server, which the pages before a session show.
pub fn host_of(request: &PublicRequest) -> String {
    let url = url::Url::parse(&request.ctx.core.base_url).ok();
    url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

fn sign_in_form<'a>(request: &'a PublicRequest, next: &'a str, faults: FormFaults) -> SignInView<'a> {
    let has_sign_up = request.ctx.auth.signup_plan().is_ok();
    SignInView { email: request.form.text("email"), next, faults, has_sign_up, host: host_of(request) }
}
