//! GET /oauth/authorize: the page on which the user signs in, or decides on the request of an app. Nothing is granted
//! without the user's click, whatever was granted before.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::context::AuthContext;
use actors::auth::grants::{AuthorizationRequest, Browser};
use actors::context::OperationContext;
use entity::user;
use errors::Error;

use super::browser::signed_in;
use super::page::{self, locale_of, page};
use super::params::Params;
use super::request;
use super::sign_in::{SignInForm, sign_in_page};
use super::views::{ConsentPage, RequestView};
use crate::http::peer;

/// The longest request that is stored for after the sign-in. A request with the longest state, redirect URI
/// and resource fits several times over.
const MAX_QUERY_BYTES: usize = 16 * 1024;

/// Responds to a request for authorization: by the sign-in page, by the consent page, or by an error for the user or the client.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    let params = Params::parse(request.query_string().as_bytes());
    let authorization = match request::read_request(&ctx, peer::ip_address(&request), &params).await {
        Ok(authorization) => authorization,
        Err(error) => return page::refuse(&ctx.core, error),
    };
    // OpenID Connect's value for signing in again although a user is signed in.
    let wants_sign_in = params.all("prompt").any(|prompt| prompt.split(' ').any(|word| word == "login"));
    match signed_in(&ctx.auth, &request).await {
        Ok(Some((browser, user))) if !wants_sign_in => {
            ask_for_consent(&ctx.auth, &request, &params, authorization, (browser, user)).await
        }
        Ok(_) => ask_to_sign_in(&ctx.auth, &request, &params, &authorization).await,
        Err(error) => page::failure(&error),
    }
}

async fn ask_to_sign_in(
    auth: &AuthContext,
    request: &HttpRequest,
    params: &Params,
    authorization: &AuthorizationRequest,
) -> HttpResponse {
    // The query becomes a row that any client can add, so its length is bounded here.
    let query = query_of_request(params);
    if query.len() > MAX_QUERY_BYTES {
        let text = format!(
            "The request of the app is longer than {} KiB. Start again in the app that you want to connect.",
            MAX_QUERY_BYTES / 1024
        );
        return page::stop(StatusCode::URI_TOO_LONG, "This request is too long", &text);
    }
    match auth.grants.create_sign_in_ticket(peer::ip_address(request), query).await {
        Ok(ticket) => {
            let form = SignInForm { ticket: &ticket, email: "", fault: None };
            sign_in_page(StatusCode::OK, &locale_of(request, &auth.core), authorization, &form)
        }
        Err(error @ Error::TooManyFailures(_)) => page::too_many_requests(&error),
        Err(error) => page::failure(&error),
    }
}

/// The parameters that are passed on to the next page. `prompt` is not: a user who has just signed in need not do so again.
const PASSED_PARAMS: [&str; 11] = [
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

/// Returns the request as the query of the next page.
fn query_of_request(params: &Params) -> String {
    params.query_of(&PASSED_PARAMS)
}

async fn ask_for_consent(
    auth: &AuthContext,
    request: &HttpRequest,
    params: &Params,
    authorization: AuthorizationRequest,
    (browser, user): (Browser, user::Model),
) -> HttpResponse {
    let view = RequestView::of(&authorization, Some(user.plan));
    let offered = authorization.offered(user.plan);
    // The request stays on the server, and the form has only the ticket: a page cannot exchange the redirect URI or
    // add scopes.
    let ticket = match auth.grants.create_consent_ticket(authorization, browser, offered).await {
        Ok(ticket) => ticket,
        Err(error) => return page::failure(&error),
    };
    let other_account = format!("{}&prompt=login", query_of_request(params));
    let body = ConsentPage {
        request: view,
        email: &user.email,
        ticket: ticket.expose(),
        other_account: &other_account,
    };
    page(StatusCode::OK, &locale_of(request, &auth.core), &body)
}
