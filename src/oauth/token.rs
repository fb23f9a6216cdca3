//! POST /oauth/token: exchanges a code or a refresh token for a pair of tokens (OAuth 2.1, sections 4.1.3 and 4.3).

use actix_web::http::StatusCode;
use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::context::AuthContext;
use actors::auth::grants::pkce::{CodeVerifier, VERIFIER_RULE};
use actors::auth::grants::{CodeExchange, TokenError, TokenPair, TokenRefresh};
use actors::context::OperationContext;
use serde_json::json;
use values::scope::Scopes;

use super::client::{authenticate, record_failure};
use super::error::OAuthError;
use super::open::{self, CacheControl};
use super::params::{Params, RepeatedParameter};
use super::{request, resource};

/// The parameters of the endpoint, each of which was sent once at most. Those of the client are read by [`authenticate`]. `resource` is
/// absent: it may be repeated (RFC 8707, section 2).
struct TokenParams<'a> {
    grant_type: Option<&'a str>,
    code: Option<&'a str>,
    redirect_uri: Option<&'a str>,
    code_verifier: Option<&'a str>,
    refresh_token: Option<&'a str>,
    scope: Option<&'a str>,
}

impl<'a> TokenParams<'a> {
    fn from_form(form: &'a Params) -> Result<Self, RepeatedParameter> {
        Ok(Self {
            grant_type: form.one("grant_type")?,
            code: form.one("code")?,
            redirect_uri: form.one("redirect_uri")?,
            code_verifier: form.one("code_verifier")?,
            refresh_token: form.one("refresh_token")?,
            scope: form.one("scope")?,
        })
    }
}

/// A request for tokens. Without `Debug`, which would show codes and tokens.
enum TokenRequest {
    /// With a code, for the first tokens of a grant (RFC 6749, section 4.1.3).
    AuthorizationCode {
        code: String,
        redirect_uri: Option<String>,
        /// `None` if it is missing or malformed, which is an error only after the code is spent.
        verifier: Option<CodeVerifier>,
    },
    /// With a refresh token, for the next tokens of a grant (RFC 6749, section 6).
    RefreshToken {
        token: String,
        /// `None` for the scopes of the grant.
        scopes: Option<Scopes>,
    },
}

impl TokenRequest {
    fn from_params(params: &TokenParams) -> Result<Self, OAuthError> {
        match params.grant_type.ok_or(OAuthError::MissingParameter("grant_type"))? {
            "authorization_code" => Ok(Self::AuthorizationCode {
                code: params.code.ok_or(OAuthError::MissingParameter("code"))?.to_owned(),
                redirect_uri: params.redirect_uri.map(str::to_owned),
                verifier: params.code_verifier.and_then(CodeVerifier::parse),
            }),
            "refresh_token" => Ok(Self::RefreshToken {
                token: params.refresh_token.ok_or(OAuthError::MissingParameter("refresh_token"))?.to_owned(),
                scopes: requested_scopes(params.scope)?,
            }),
            _ => Err(OAuthError::UnsupportedGrantType),
        }
    }
}

/// Responds to a request of any method.
pub async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    open::post(&request, tokens(&request, &ctx.auth, payload)).await
}

async fn tokens(
    request: &HttpRequest,
    auth: &AuthContext,
    payload: Payload,
) -> Result<HttpResponse, OAuthError> {
    let form = Params::read(request, payload).await?;
    let params = TokenParams::from_form(&form)?;
    let client = authenticate(auth, request, &form).await?;
    if !resource::is_own(&auth.core.base_url, form.all("resource")) {
        return Err(OAuthError::InvalidTarget);
    }
    let tokens = match TokenRequest::from_params(&params)? {
        TokenRequest::AuthorizationCode { code, redirect_uri, verifier } => {
            exchange(auth, request, CodeExchange { client, code, redirect_uri, verifier }).await?
        }
        TokenRequest::RefreshToken { token, scopes } => {
            let refreshed = auth.grants.refresh_tokens(TokenRefresh { client, token, scopes }).await;
            refreshed.map_err(|error| record_guess(auth, request, error))?
        }
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
    auth: &AuthContext,
    request: &HttpRequest,
    exchange: CodeExchange,
) -> Result<TokenPair, OAuthError> {
    let has_verifier = exchange.verifier.is_some();
    let exchanged = auth.grants.exchange_code(exchange).await;
    exchanged.map_err(|error| {
        // The guess counts whatever the client is answered.
        let error = record_guess(auth, request, error);
        if has_verifier { error } else { require_verifier(error) }
    })
}

/// Returns the response to an exchange without a valid code verifier. It is the same for every code, so that it does not tell whether
/// the code exists, was used, or belongs to another client.
fn require_verifier(error: OAuthError) -> OAuthError {
    if matches!(error, OAuthError::InvalidGrant(_)) {
        OAuthError::InvalidRequest(VERIFIER_RULE)
    } else {
        error
    }
}

/// Counts a guessed code or token as a failure of the IP address. One that was valid before is not a guess.
fn record_guess(auth: &AuthContext, request: &HttpRequest, error: TokenError) -> OAuthError {
    match error {
        // Only an unknown one counts: a token that was valid before comes from a client that lost a race or a response,
        // and must not block its address.
        TokenError::UnknownGrant(why) => record_failure(auth, request, OAuthError::InvalidGrant(why)),
        TokenError::InvalidClient
        | TokenError::InvalidGrant(_)
        | TokenError::InvalidVerifier
        | TokenError::InvalidScope
        | TokenError::Internal(_) => error.into(),
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

    fn parse(form: &str) -> Result<TokenRequest, OAuthError> {
        TokenRequest::from_params(&TokenParams::from_form(&Params::parse(form.as_bytes()))?)
    }

    fn error_of(form: &str) -> OAuthError {
        parse(form).err().unwrap()
    }

    #[test]
    fn no_known_parameter_may_be_repeated() {
        for name in ["grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "scope"] {
            let error = error_of(&format!("{name}=a&{name}=a"));

            assert!(matches!(error, OAuthError::RepeatedParameter(repeated) if repeated == name), "{error}");
        }
        assert!(parse("grant_type=refresh_token&refresh_token=t&other=a&other=b").is_ok());
    }

    #[test]
    fn fault_of_a_token_request_is_named() {
        for (form, description) in [
            ("code=c", "the parameter grant_type is missing"),
            ("grant_type=&code=c", "the parameter grant_type is missing"),
            ("grant_type=password", "grant_type must be authorization_code or refresh_token"),
            ("grant_type=authorization_code&refresh_token=t", "the parameter code is missing"),
            ("grant_type=refresh_token&code=c", "the parameter refresh_token is missing"),
            ("grant_type=refresh_token&refresh_token=t&scope=other", request::UNGRANTABLE_SCOPE),
        ] {
            assert_eq!(error_of(form).to_string(), description, "{form}");
        }
    }

    #[test]
    fn exchange_without_verifier_keeps_other_errors() {
        for (error, code) in [
            (TokenError::InvalidGrant("the code has expired").into(), "invalid_request"),
            (TokenError::UnknownGrant("the code is unknown").into(), "invalid_request"),
            (TokenError::InvalidVerifier.into(), "invalid_request"),
            (TokenError::InvalidClient.into(), "invalid_client"),
            (OAuthError::TooManyAttempts(Duration::from_secs(9)), "temporarily_unavailable"),
        ] {
            assert_eq!(require_verifier(error).code(), code);
        }
    }

    #[test]
    fn malformed_verifier_is_left_to_the_exchange() {
        for (sent, is_valid) in [(VERIFIER, true), ("short", false), ("", false)] {
            let form = format!("grant_type=authorization_code&code=c&code_verifier={sent}");

            let Ok(TokenRequest::AuthorizationCode { verifier, .. }) = parse(&form) else { panic!("{form}") };
            assert_eq!(verifier.is_some(), is_valid, "{form}");
        }
    }
}
