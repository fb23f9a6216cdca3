//! POST /oauth/consent: what the person decided. What was asked waits behind the ticket of the form, so the form can take
//! away from it and add nothing.

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::auth::grants::{Decided, TICKET_PREFIX};
use actors::auth::secret::Secret;
use entity::scope::Scopes;

use super::authorize::signed_in;
use super::error::OAuthError;
use super::page::{back, inside, is_our_form, send_error, stale};
use super::params::Params;

/// Answers the form.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let Ok(form) = Params::read(&request, payload).await else { return stale() };
    if !is_our_form(&request, &ctx) {
        return stale();
    }
    let ticket = form.one("ticket").ok().flatten().and_then(|sent| Secret::parse_token(TICKET_PREFIX, sent));
    let browser = match signed_in(&ctx, &request).await {
        Ok(found) => found.map(|(browser, _)| browser),
        Err(error) => return inside(&error),
    };
    let (Some(ticket), Some(browser)) = (ticket, browser) else { return stale() };
    match ctx.grants.decide(browser, ticket, ticked(&form)).await {
        Ok(Some(decided)) => answer(&ctx, &decided),
        Ok(None) => stale(),
        Err(error) => inside(&error),
    }
}

/// What was allowed: nothing, unless the button says so.
fn ticked(form: &Params) -> Scopes {
    match form.one("decision") {
        Ok(Some("allow")) => form.all("scope").filter_map(|name| name.parse().ok()).collect(),
        Ok(_) | Err(_) => Scopes::default(),
    }
}

fn answer(ctx: &OperationContext, decided: &Decided) -> HttpResponse {
    let state = Some(decided.state.as_str());
    match &decided.code {
        Some(code) => back(ctx, &decided.redirect_uri, state, &[("code", code.expose())]),
        None => send_error(ctx, &decided.redirect_uri, state, &OAuthError::AccessDenied),
    }
}
