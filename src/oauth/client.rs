//! Authenticates the client of a token request (RFC 6749, section 2.3).

use actix_web::HttpRequest;
use actix_web::http::header::AUTHORIZATION;
use actors::auth::context::AuthContext;
use actors::auth::grants::TokenError;
use actors::auth::grants::client::ClientCredentials;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use entity::oauth_client;
use errors::Error;

use super::error::OAuthError;
use super::params::Params;
use crate::http::peer;

/// Authenticates the client by the method that it registered. A failure counts for the IP address.
///
/// # Errors
/// [`OAuthError::InvalidClient`]; [`OAuthError::TooManyAttempts`] after too many failures of the address;
/// [`OAuthError::InvalidRequest`] for two methods at once.
pub async fn authenticate(
    auth: &AuthContext,
    request: &HttpRequest,
    form: &Params,
) -> Result<oauth_client::Model, OAuthError> {
    let by_header = request.headers().contains_key(AUTHORIZATION);
    let credentials = read_credentials(request, form)?;
    let authenticated = match credentials {
        Some((id, credentials)) => auth.grants.authenticate_client(&id, &credentials).await,
        None => Err(TokenError::InvalidClient),
    };
    match authenticated {
        Ok(client) => Ok(client),
        Err(TokenError::InvalidClient) => {
            Err(record_failure(auth, request, OAuthError::InvalidClient { by_header }))
        }
        Err(other) => Err(other.into()),
    }
}

/// Counts a failure of the IP address: of a client (contract.md, section 3), or of a guessed code or token.
/// After too many, the error is that the address has to wait.
pub fn record_failure(auth: &AuthContext, request: &HttpRequest, error: OAuthError) -> OAuthError {
    if let Error::TooManyFailures(wait) = auth.failures.record(peer::ip_address(request)) {
        return OAuthError::TooManyAttempts(wait);
    }
    error
}

/// The id and the credentials of the client; `None` if `Authorization` is malformed.
fn read_credentials(
    request: &HttpRequest,
    form: &Params,
) -> Result<Option<(String, ClientCredentials)>, OAuthError> {
    let id = form.one("client_id")?;
    let secret = form.one("client_secret")?;
    let mut headers = request.headers().get_all(AUTHORIZATION);
    let (header, second) = (headers.next(), headers.next());
    // RFC 6749, section 2.3: a client must not use more than one method in a request.
    if second.is_some() || (header.is_some() && secret.is_some()) {
        return Err(OAuthError::InvalidRequest("a client must authenticate in one way only"));
    }
    let Some(header) = header else {
        let id = id.ok_or(OAuthError::MissingParameter("client_id"))?;
        let credentials =
            secret.map_or(ClientCredentials::None, |secret| ClientCredentials::Post(secret.to_owned()));
        return Ok(Some((id.to_owned(), credentials)));
    };
    // A malformed header is a failed authentication, not a bad request: the challenge tells
    // the client what is expected.
    let Some((name, secret)) = header.to_str().ok().and_then(parse_basic) else { return Ok(None) };
    if id.is_some_and(|id| id != name) {
        return Err(OAuthError::InvalidRequest("client_id differs from that of the Authorization header"));
    }
    Ok(Some((name, ClientCredentials::Basic(secret))))
}

/// Returns the id and the secret of `Authorization: Basic`. Both are form-encoded before they
/// are joined (RFC 6749, section 2.3.1).
fn parse_basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let joined = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (name, secret) = joined.split_once(':')?;
    Some((decode(name)?, decode(secret)?))
}

fn decode(half: &str) -> Option<String> {
    // `&` would end the value, and the rest would be ignored.
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
    fn id_and_secret_of_a_header_are_decoded() {
        let header = |joined: &str| format!("bAsIc {}", STANDARD.encode(joined));
        let both = |name: &str, secret: &str| Some((name.to_owned(), secret.to_owned()));

        assert_eq!(parse_basic(&header("a%3Ab:c%2Bd+e")), both("a:b", "c+d e"));
        assert_eq!(parse_basic(&header("a:")), both("a", ""));
        assert_eq!(
            (parse_basic("Bearer x"), parse_basic("Basic !"), parse_basic(&header("a"))),
            (None, None, None)
        );
        assert_eq!((parse_basic(&header("a&x:b")), parse_basic(&header("a:b&c"))), (None, None));
    }
}
