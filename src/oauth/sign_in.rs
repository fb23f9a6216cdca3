//! POST /oauth/sign-in: the same sign-in as the web app's, slowed in the same way; then on with the request.

use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::app::App;
use actors::error::Error;
use actors::sessions;

use super::authorize::{SignInAgain, going_on, sign_in_page};
use super::page::{go, inside, is_our_form, stale, unfit};
use super::params::Params;
use super::request;
use crate::app::cookie;
use crate::http::peer;
use crate::rest::seconds;

/// Answers the form.
pub async fn serve(request: HttpRequest, app: Data<App>, payload: Payload) -> HttpResponse {
    let Ok(form) = Params::read(&request, payload).await else { return stale() };
    if !is_our_form(&request, &app) {
        return stale();
    }
    // What to go on with is read anew: the form cannot lead anywhere but to our own page.
    let params = Params::of(form.one("request").unwrap_or_default().unwrap_or_default().as_bytes());
    let asked = match request::read(&app, peer::address(&request), &params).await {
        Ok(asked) => asked,
        Err(not) => return unfit(&app, not),
    };
    let query = going_on(&params);
    let typed = |name| form.one(name).unwrap_or_default().unwrap_or_default();
    let (email, password) = (typed("email"), typed("password").to_owned());
    match sessions::sign_in(&app, peer::address(&request), email, password).await {
        Ok(signed_in) => {
            let mut response = go(&format!("{}/oauth/authorize?{query}", app.base_url));
            match response.add_cookie(&cookie(&app, signed_in.secret.expose())) {
                Ok(()) => response,
                Err(error) => inside(&Error::internal(error.to_string())),
            }
        }
        Err(Error::WrongPassword) => {
            let fault = Some("Address and password do not fit together.");
            sign_in_page(StatusCode::UNAUTHORIZED, &asked, &SignInAgain { request: &query, email, fault })
        }
        Err(Error::TooManyFailures(wait)) => {
            let fault = Some("That was wrong too often. Wait some minutes before you try again.");
            let again = SignInAgain { request: &query, email, fault };
            let mut response = sign_in_page(StatusCode::TOO_MANY_REQUESTS, &asked, &again);
            response.headers_mut().insert(RETRY_AFTER, seconds(wait).max(1).into());
            response
        }
        Err(error) => inside(&error),
    }
}
