//! POST /oauth/token: exchanges a code or a refresh token for a pair of tokens (OAuth 2.1, sections 4.1.3 and 4.3).

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::grants::{CodeExchange, TokenError, TokenPair, TokenRefresh, pkce};
use actors::context::OperationContext;
use entity::oauth_client;
use entity::scope::Scopes;
use serde_json::json;

use super::client::{authenticate, record_failure};
use super::error::OAuthError;
use super::open::{self, CacheControl};
use super::params::Params;
use super::{request, resource};

/// Answers a request of any method.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    open::post(&request, tokens(&request, &ctx, payload)).await
}

async fn tokens(
    request: &HttpRequest,
    ctx: &OperationContext,
    payload: Payload,
) -> Result<HttpResponse, OAuthError> {
    let form = Params::read(request, payload).await?;
    // `resource` is absent: it may be repeated (RFC 8707, section 2).
    for name in ["grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "scope"] {
        form.one(name)?;
    }
    let client = authenticate(ctx, request, &form).await?;
    if !resource::is_own(&ctx.core.base_url, form.all("resource")) {
        return Err(OAuthError::InvalidTarget);
    }
    let tokens = match value(&form, "grant_type") {
        None => return Err(OAuthError::MissingParameter("grant_type")),
        Some("authorization_code") => exchange(ctx, request, client, &form).await?,
        Some("refresh_token") => refresh(ctx, request, client, &form).await?,
        Some(_) => return Err(OAuthError::UnsupportedGrantType),
    };
    let body = json!({
        "access_token": tokens.access.expose(),
        "token_type": "Bearer",
        "expires_in": tokens.access_lifetime.as_secs(),
        "refresh_token": tokens.refresh.expose(),
        // Always sent: the user may have allowed less than was requested (RFC 6749, section 5.1).
        "scope": tokens.scopes.to_string(),
    });
    Ok(open::json(StatusCode::OK, CacheControl::NoStore, &body))
}

async fn exchange(
    ctx: &OperationContext,
    request: &HttpRequest,
    client: oauth_client::Model,
    form: &Params,
) -> Result<TokenPair, OAuthError> {
    let code = value(form, "code").ok_or(OAuthError::MissingParameter("code"))?.to_owned();
    let verifier = value(form, "code_verifier").unwrap_or_default().to_owned();
    let redirect_uri = value(form, "redirect_uri").map(str::to_owned);
    let is_verifier = pkce::is_verifier(&verifier);
    // The code is spent even if the verifier is malformed: it has been presented.
    let exchanged = ctx.grants.exchange_code(CodeExchange { client, code, redirect_uri, verifier }).await;
    exchanged.map_err(|error| {
        let error = record_guess(ctx, request, error);
        if matches!(error, OAuthError::InvalidGrant(_)) && !is_verifier {
            return OAuthError::InvalidRequest(
                "code_verifier must have 43 to 128 characters of A-Z a-z 0-9 - . _ ~",
            );
        }
        error
    })
}

/// Counts a guessed code or token as a failure of the IP address. One that was valid before is no guess.
fn record_guess(ctx: &OperationContext, request: &HttpRequest, error: TokenError) -> OAuthError {
    match error {
        // Only an unknown one counts: a token that was valid before comes from a client that lost a race or a response,
        // and must not block its address.
        TokenError::UnknownGrant(why) => record_failure(ctx, request, OAuthError::InvalidGrant(why)),
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
) -> Result<TokenPair, OAuthError> {
    let token = value(form, "refresh_token").ok_or(OAuthError::MissingParameter("refresh_token"))?.to_owned();
    let scopes = requested_scopes(value(form, "scope"))?;
    ctx.grants
        .refresh_tokens(TokenRefresh { client, token, scopes })
        .await
        .map_err(|error| record_guess(ctx, request, error))
}

/// The scopes that a refresh requests; `None` if it names no known one.
fn requested_scopes(scope: Option<&str>) -> Result<Option<Scopes>, OAuthError> {
    let Some(scope) = scope else { return Ok(None) };
    let requested =
        request::scopes(Some(scope)).ok_or(OAuthError::InvalidScope(request::UNGRANTABLE_SCOPE))?;
    // `request::scopes` returns the default for `offline_access` alone. A refresh with it must keep its scopes.
    let names_any = scope.split_whitespace().any(|name| requested.iter().any(|scope| scope.name() == name));
    Ok(names_any.then_some(requested))
}

/// The value of a parameter; [`tokens`] has refused repeated ones.
fn value<'a>(form: &'a Params, name: &'static str) -> Option<&'a str> {
    form.one(name).unwrap_or_default()
}
