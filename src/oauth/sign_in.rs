//! POST /oauth/sign-in: the same sign-in as the web app's, slowed in the same way; then on with the request that waits
//! behind the ticket of the form.

use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use errors::Error;
use actors::auth::grants::SIGN_IN_PREFIX;
use actors::auth::secret::Secret;
use actors::auth::sessions;
use entity::user;

use super::authorize::{SignInForm, sign_in_page};
use super::page::{go, inside, is_our_form, refuse, stale};
use super::params::Params;
use super::request;
use crate::app::{cookie, session_secret};
use crate::http::peer;
use crate::rest::seconds;

/// Answers the form.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let Ok(form) = Params::read(&request, payload).await else { return stale() };
    if !is_our_form(&request, &ctx) {
        return stale();
    }
    let (ticket, query) = match kept(&ctx, &form).await {
        Ok(Some(kept)) => kept,
        Ok(None) => return stale(),
        Err(error) => return inside(&error),
    };
    // It is read anew: the application may have gone, or taken an address back.
    let params = Params::of(query.as_bytes());
    let asked = match request::read(&ctx, peer::address(&request), &params).await {
        Ok(asked) => asked,
        Err(error) => return refuse(&ctx, error),
    };
    let typed = |name| form.one(name).unwrap_or_default().unwrap_or_default();
    let (email, password) = (typed("email"), typed("password").to_owned());
    match sessions::authenticate(&ctx, peer::address(&request), email, password).await {
        Ok(user) => match begin(&request, &ctx, &user, &ticket, &query).await {
            Ok(response) => response,
            Err(error) => inside(&error),
        },
        Err(Error::WrongPassword) => {
            let fault = Some("Wrong e-mail address or password.");
            sign_in_page(StatusCode::UNAUTHORIZED, &asked, &SignInForm { ticket: &ticket, email, fault })
        }
        Err(Error::TooManyFailures(wait)) => {
            let fault = Some("Too many failed attempts. Wait some minutes before you try again.");
            let again = SignInForm { ticket: &ticket, email, fault };
            let mut response = sign_in_page(StatusCode::TOO_MANY_REQUESTS, &asked, &again);
            response.headers_mut().insert(RETRY_AFTER, seconds(wait).max(1).into());
            response
        }
        Err(error) => inside(&error),
    }
}

/// Begins a session, once for each page, and goes on with the request.
async fn begin(
    request: &HttpRequest,
    ctx: &OperationContext,
    user: &user::Model,
    ticket: &Secret,
    query: &str,
) -> Result<HttpResponse, Error> {
    if !ctx.grants.spend_sign_in(ticket).await? {
        return Ok(stale());
    }
    let secret = sessions::open(ctx, user, session_secret(request, ctx).as_ref()).await?;
    let mut response = go(&format!("{}/oauth/authorize?{query}", ctx.core.base_url));
    response.add_cookie(&cookie(ctx, secret.expose())).map_err(|error| Error::internal(error.to_string()))?;
    Ok(response)
}

/// The ticket of the form, and the query that it stands for.
async fn kept(ctx: &OperationContext, form: &Params) -> Result<Option<(Secret, String)>, Error> {
    let sent = form.one("ticket").ok().flatten();
    let Some(ticket) = sent.and_then(|sent| Secret::parse_token(SIGN_IN_PREFIX, sent)) else {
        return Ok(None);
    };
    Ok(ctx.grants.kept_sign_in(&ticket).await?.map(|query| (ticket, query)))
}
