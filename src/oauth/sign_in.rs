//! POST /oauth/sign-in: the same sign-in as the web app's, with the same limits. It continues with the request that waits behind the
//! ticket of the form.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::context::AuthContext;
use actors::auth::grants::{AuthorizationRequest, SIGN_IN_PREFIX};
use actors::auth::secret::Secret;
use actors::auth::sessions;
use actors::context::OperationContext;
use entity::user;
use errors::Error;
use values::kind::AppLanguage;

use super::browser::is_own_form;
use super::page::{self, expired_form, locale_of, page, redirect, with_retry_after};
use super::params::Params;
use super::request;
use super::views::{RequestView, SignInPage};
use crate::http::device::device;
use crate::http::error::{message_sentence, status};
use crate::http::peer;
use crate::http::session::{cookie, forget_pages, session_secret};
use crate::web::locale::Locale;
use crate::web::page::errors::error_text;

/// The contents of the form on the sign-in page.
pub struct SignInForm<'a> {
    /// The ticket behind which the request waits.
    pub ticket: &'a Secret,
    /// The e-mail address of the last attempt; empty on the first page.
    pub email: &'a str,
    /// Why the last attempt failed, in a sentence for the user; `None` on the first page.
    pub fault: Option<&'a str>,
}

/// The page on which the user signs in to decide on a request.
pub fn sign_in_page(
    status: StatusCode,
    locale: &Locale,
    authorization: &AuthorizationRequest,
    form: &SignInForm<'_>,
) -> HttpResponse {
    let SignInForm { ticket, email, fault } = *form;
    let request = RequestView::of(authorization, None);
    page(status, locale, &SignInPage { request, ticket: ticket.expose(), email, fault })
}

/// Signs the user in and redirects to the consent page, or shows the form again.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let Ok(form) = Params::read(&request, payload).await else { return expired_form() };
    if !is_own_form(&request, &ctx.core) {
        return expired_form();
    }
    let (ticket, query) = match find_ticket(&ctx.auth, &form).await {
        Ok(Some(found)) => found,
        Ok(None) => return expired_form(),
        Err(error) => return page::failure(&error),
    };
    // The request is checked again: the client may have been removed, or a redirect URI of it.
    let params = Params::parse(query.as_bytes());
    let authorization = match request::read_request(&ctx, peer::ip_address(&request), &params).await {
        Ok(authorization) => authorization,
        Err(error) => return page::refuse(&ctx.core, error),
    };
    let typed = |name| form.one(name).unwrap_or_default().unwrap_or_default();
    let (email, password) = (typed("email"), typed("password").to_owned());
    let ip_address = peer::ip_address(&request);
    match sessions::check_sign_in(&ctx.core, &ctx.auth.sign_ins, ip_address, email, password).await {
        Ok(user) => match start_session(&request, &ctx.auth, &user, &ticket, &query).await {
            Ok(response) => response,
            Err(error) => page::failure(&error),
        },
        Err(error @ (Error::WrongPassword | Error::TooManyFailures(_))) => {
            let locale = locale_of(&request, &ctx.core);
            let fault = sign_in_fault(&locale, &error);
            let form = SignInForm { ticket: &ticket, email, fault: Some(&fault) };
            with_retry_after(sign_in_page(status(&error), &locale, &authorization, &form), &error)
        }
        Err(error) => page::failure(&error),
    }
}

/// Says why a sign-in failed, in the language of the page.
fn sign_in_fault(locale: &Locale, error: &Error) -> String {
    match locale.language {
        AppLanguage::English => message_sentence(error),
        AppLanguage::German => error_text(locale, error).text,
    }
}

/// Starts a session, once for each ticket, and continues with the request.
async fn start_session(
    request: &HttpRequest,
    auth: &AuthContext,
    user: &user::Model,
    ticket: &Secret,
    query: &str,
) -> Result<HttpResponse, Error> {
    // Spent only now, so that a mistyped password can be corrected on the same page. A form that is submitted twice
    // gets one session.
    if !auth.grants.spend_sign_in_ticket(ticket).await? {
        return Ok(expired_form());
    }
    // The session that the browser presents ends: another site may have planted it (row C2).
    let presented = session_secret(request, &auth.core);
    let secret = sessions::open_session(&auth.core, user, presented.as_ref(), device(request)).await?;
    let mut response = redirect(&format!("{}/oauth/authorize?{query}", auth.core.base_url));
    response
        .add_cookie(&cookie(&auth.core, secret.expose()))
        .map_err(|error| Error::internal(error.to_string()))?;
    // Those of the user who was signed in before.
    forget_pages(&mut response);
    Ok(response)
}

/// Returns the ticket of the form, and the query of the request behind it; `None` if the ticket is malformed, spent or expired.
async fn find_ticket(auth: &AuthContext, form: &Params) -> Result<Option<(Secret, String)>, Error> {
    let sent = form.one("ticket").ok().flatten();
    let Some(ticket) = sent.and_then(|sent| Secret::parse_token(SIGN_IN_PREFIX, sent)) else {
        return Ok(None);
    };
    Ok(auth.grants.find_sign_in_query(&ticket).await?.map(|query| (ticket, query)))
}
