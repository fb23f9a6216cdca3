//! Which client a token request is from, and whether it proves that (RFC 6749, section 2.3).

use actix_web::HttpRequest;
use actix_web::http::header::AUTHORIZATION;
use actors::context::OperationContext;
use errors::Error;
use actors::auth::grants::TokenError;
use actors::auth::grants::client::Proof;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::oauth_client;

use super::error::OAuthError;
use super::params::Params;
use crate::http::peer;

/// The client, authenticated by the one way that it registered. A failure counts for the address.
pub async fn authenticated(
    ctx: &OperationContext,
    request: &HttpRequest,
    form: &Params,
) -> Result<oauth_client::Model, OAuthError> {
    let by_header = request.headers().contains_key(AUTHORIZATION);
    let shown = shown(request, form)?;
    let found = match shown {
        Some((id, proof)) => ctx.grants.authenticated(&id, &proof).await,
        None => Err(TokenError::InvalidClient),
    };
    match found {
        Ok(client) => Ok(client),
        Err(TokenError::InvalidClient) => Err(failed(ctx, request, OAuthError::InvalidClient { by_header })),
        Err(other) => Err(other.into()),
    }
}

/// A failure counts for the address, be it a client's (contract.md, section 3) or a guessed code's or token's (design:
/// mcp-oauth.md, assertion 91): after so many it is told to wait, whatever the refusal would have been.
pub fn failed(ctx: &OperationContext, request: &HttpRequest, error: OAuthError) -> OAuthError {
    if let Error::TooManyFailures(wait) = ctx.failures.failed(peer::address(request)) {
        return OAuthError::TooManyAttempts(wait);
    }
    error
}

/// Name and proof; `None` where a header is no proof at all.
fn shown(request: &HttpRequest, form: &Params) -> Result<Option<(String, Proof)>, OAuthError> {
    let id = form.one("client_id")?;
    let secret = form.one("client_secret")?;
    let mut headers = request.headers().get_all(AUTHORIZATION);
    let (header, second) = (headers.next(), headers.next());
    if second.is_some() || (header.is_some() && secret.is_some()) {
        return Err(OAuthError::InvalidRequest("a client must authenticate in one way only"));
    }
    let Some(header) = header else {
        let id = id.ok_or(OAuthError::MissingParameter("client_id"))?;
        let proof = secret.map_or(Proof::Nothing, |secret| Proof::Post(secret.to_owned()));
        return Ok(Some((id.to_owned(), proof)));
    };
    let Some((name, secret)) = header.to_str().ok().and_then(basic) else { return Ok(None) };
    if id.is_some_and(|id| id != name) {
        return Err(OAuthError::InvalidRequest("client_id differs from that of the Authorization header"));
    }
    Ok(Some((name, Proof::Basic(secret))))
}

/// Name and secret of `Authorization: Basic`; both are form-encoded before they are joined.
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let joined = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (name, secret) = joined.split_once(':')?;
    Some((decoded(name)?, decoded(secret)?))
}

fn decoded(half: &str) -> Option<String> {
    // A whole form would end here.
    if half.contains('&') {
        return None;
    }
    let named = format!("v={half}");
    url::form_urlencoded::parse(named.as_bytes()).next().map(|(_, value)| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_of_a_header_are_decoded() {
        let header = |joined: &str| format!("bAsIc {}", STANDARD.encode(joined));
        let both = |name: &str, secret: &str| Some((name.to_owned(), secret.to_owned()));

        assert_eq!(basic(&header("a%3Ab:c%2Bd+e")), both("a:b", "c+d e"));
        assert_eq!(basic(&header("a:")), both("a", ""));
        assert_eq!((basic("Bearer x"), basic("Basic !"), basic(&header("a"))), (None, None, None));
        assert_eq!((basic(&header("a&x:b")), basic(&header("a:b&c"))), (None, None));
    }
}
