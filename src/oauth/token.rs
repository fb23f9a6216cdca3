//! POST /oauth/token: a code or a refresh token becomes a pair of tokens (OAuth 2.1, sections 4.1.3 and 4.3).

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::auth::grants::{Exchange, Issued, Refresh, TokenError, pkce};
use entity::oauth_client;
use entity::scope::Scopes;
use serde_json::json;

use super::client::{authenticated, failed};
use super::error::OAuthError;
use super::open::{self, Kept};
use super::params::Params;
use super::{request, resource};

/// Answers whatever comes to the address.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    open::post(&request, tokens(&request, &ctx, payload)).await
}

async fn tokens(request: &HttpRequest, ctx: &OperationContext, payload: Payload) -> Result<HttpResponse, OAuthError> {
    let form = Params::read(request, payload).await?;
    for name in ["grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "scope"] {
        form.one(name)?;
    }
    let client = authenticated(ctx, request, &form).await?;
    if !resource::fits(&ctx.core.base_url, form.all("resource")) {
        return Err(OAuthError::InvalidTarget);
    }
    let issued = match value(&form, "grant_type") {
        None => return Err(OAuthError::MissingParameter("grant_type")),
        Some("authorization_code") => exchange(ctx, request, client, &form).await?,
        Some("refresh_token") => refresh(ctx, request, client, &form).await?,
        Some(_) => return Err(OAuthError::UnsupportedGrantType),
    };
    let body = json!({
        "access_token": issued.access.expose(),
        "token_type": "Bearer",
        "expires_in": issued.lives.as_secs(),
        "refresh_token": issued.refresh.expose(),
        "scope": issued.scopes.to_string(),
    });
    Ok(open::json(StatusCode::OK, Kept::Never, &body))
}

async fn exchange(
    ctx: &OperationContext,
    request: &HttpRequest,
    client: oauth_client::Model,
    form: &Params,
) -> Result<Issued, OAuthError> {
    let code = value(form, "code").ok_or(OAuthError::MissingParameter("code"))?.to_owned();
    let verifier = value(form, "code_verifier").unwrap_or_default().to_owned();
    let redirect_uri = value(form, "redirect_uri").map(str::to_owned);
    let has_form = pkce::is_verifier(&verifier);
    // A verifier of another form is no verifier, but the code has been shown: it is spent all the same.
    let exchanged = ctx.grants.exchange(Exchange { client, code, redirect_uri, verifier }).await;
    exchanged.map_err(|error| {
        let error = counted(ctx, request, error);
        if matches!(error, OAuthError::InvalidGrant(_)) && !has_form {
            return OAuthError::InvalidRequest(
                "code_verifier must have 43 to 128 characters of A-Z a-z 0-9 - . _ ~",
            );
        }
        error
    })
}

/// A guess counts for the address; what was good once is no guess.
fn counted(ctx: &OperationContext, request: &HttpRequest, error: TokenError) -> OAuthError {
    match error {
        TokenError::UnknownGrant(why) => failed(ctx, request, OAuthError::InvalidGrant(why)),
        TokenError::InvalidClient
        | TokenError::InvalidGrant(_)
        | TokenError::InvalidScope
        | TokenError::Internal(_) => error.into(),
    }
}

async fn refresh(
    ctx: &OperationContext,
    request: &HttpRequest,
    client: oauth_client::Model,
    form: &Params,
) -> Result<Issued, OAuthError> {
    let token = value(form, "refresh_token").ok_or(OAuthError::MissingParameter("refresh_token"))?.to_owned();
    let scopes = narrower(value(form, "scope"))?;
    ctx.grants.refresh(Refresh { client, token, scopes }).await.map_err(|error| counted(ctx, request, error))
}

/// What a refresh asks for, where it asks for anything that there is.
fn narrower(scope: Option<&str>) -> Result<Option<Scopes>, OAuthError> {
    let Some(scope) = scope else { return Ok(None) };
    let asked = request::scopes(Some(scope)).ok_or(OAuthError::InvalidScope(request::UNGRANTABLE))?;
    let named_any = scope.split_whitespace().any(|name| asked.iter().any(|scope| scope.name() == name));
    Ok(named_any.then_some(asked))
}

/// Repetition was looked at before.
fn value<'a>(form: &'a Params, name: &'static str) -> Option<&'a str> {
    form.one(name).unwrap_or_default()
}
