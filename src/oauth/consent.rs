//! POST /oauth/consent: the user's decision. The request waits behind the ticket of the form, so the form can narrow it and add
//! nothing.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::grants::{ConsentDecision, TICKET_PREFIX};
use actors::auth::secret::Secret;
use actors::context::OperationContext;
use library::context::CoreContext;
use values::scope::Scopes;

use super::browser::{is_own_form, signed_in};
use super::error::OAuthError;
use super::page::{self, expired_form, send_error, send_response};
use super::params::Params;

/// Records the decision and sends the browser back to the client.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let Ok(form) = Params::read(&request, payload).await else { return expired_form() };
    if !is_own_form(&request, &ctx.core) {
        return expired_form();
    }
    let sent = form.one("ticket").ok().flatten();
    let ticket = sent.and_then(|sent| Secret::parse_token(TICKET_PREFIX, sent));
    let browser = match signed_in(&ctx.auth, &request).await {
        Ok(session) => session.map(|(browser, _)| browser),
        Err(error) => return page::failure(&error),
    };
    // An answered or foreign ticket, and a browser that has signed out, get the same page: nothing reveals which
    // tickets exist.
    let (Some(ticket), Some(browser)) = (ticket, browser) else { return expired_form() };
    match ctx.auth.grants.decide_consent(browser, &ticket, allowed_scopes(&form)).await {
        Ok(Some(decision)) => redirect(&ctx.core, &decision),
        Ok(None) => expired_form(),
        Err(error) => page::failure(&error),
    }
}

/// Returns the scopes that the user ticked; none if the user did not press "Allow". An empty decision is a denial.
fn allowed_scopes(form: &Params) -> Scopes {
    match form.one("decision") {
        // Scopes that were not requested have no effect: they are compared with the request behind the ticket.
        Ok(Some("allow")) => form.all("scope").filter_map(|name| name.parse().ok()).collect(),
        Ok(_) | Err(_) => Scopes::default(),
    }
}

/// Sends the browser back to the app with the decision.
fn redirect(core: &CoreContext, decision: &ConsentDecision) -> HttpResponse {
    let state = Some(decision.state.as_str());
    match &decision.code {
        Some(code) => send_response(core, &decision.redirect_uri, state, &[("code", code.expose())]),
        None => send_error(core, &decision.redirect_uri, state, &OAuthError::AccessDenied),
    }
}
