//! Reads the credential of a request (spec.md: Authentication; contract.md, sections 2 and 3).

use actix_web::HttpRequest;
use actix_web::http::header::{AUTHORIZATION, HeaderName};
use actors::auth::caller::Credential;
use actors::auth::grants::ACCESS_PREFIX;
use actors::auth::secret::Secret;
use errors::Error;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The credential in `Authorization: Bearer` or `X-API-Key`; `None` if there is none.
///
/// # Errors
/// [`Error::KeyInQuery`] for a key in the URL, whatever else is sent; [`Error::KeyInvalid`] for two credentials that differ,
/// and for another scheme than Bearer.
pub fn credential(request: &HttpRequest) -> Result<Option<Credential>, Error> {
    // First, with a valid header too: the key is in logs and must be replaced (contract.md, section 2).
    if in_query(request.query_string()) {
        return Err(Error::KeyInQuery);
    }
    let mut presented = Vec::new();
    for header in request.headers().get_all(AUTHORIZATION) {
        presented.push(bearer(header.to_str().map_err(|_| Error::KeyInvalid)?)?);
    }
    for header in request.headers().get_all(API_KEY) {
        presented.push(header.to_str().map_err(|_| Error::KeyInvalid)?.trim().to_owned());
    }
    let Some(first) = presented.first() else { return Ok(None) };
    // Never "any that works": proxy and server could choose different ones (row A3).
    if presented.iter().any(|other| other != first) {
        return Err(Error::KeyInvalid);
    }
    // A text that is neither a key nor a token is a failed authentication, which counts for the address.
    let token =
        || Secret::parse_token(ACCESS_PREFIX, first).map_or(Credential::Other, Credential::AccessToken);
    Ok(Some(Secret::parse_key(first).map_or_else(token, Credential::ApiKey)))
}

/// Returns whether the query has an `api_key`, with any value and in any case.
fn in_query(query: &str) -> bool {
    // Few queries are parsed here and again for their fields: the underscore of the name stands as it is or percent-encoded.
    let has_underscore = query.bytes().any(|byte| matches!(byte, b'_' | b'%'));
    has_underscore
        && url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name.eq_ignore_ascii_case("api_key"))
}

/// Returns the token of a Bearer header. The scheme is compared without case (RFC 9110, section 11.1).
fn bearer(header: &str) -> Result<String, Error> {
    let (scheme, token) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim().to_owned()) } else { Err(Error::KeyInvalid) }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn read(request: TestRequest) -> Result<Option<Credential>, Error> {
        credential(&request.to_http_request())
    }

    #[test]
    fn key_is_read_from_either_header_with_the_scheme_in_any_case() {
        let key = Secret::new_key().unwrap();
        let bearer = format!("bEaReR   {}", key.expose());
        for request in [
            TestRequest::get().insert_header(("Authorization", bearer)),
            TestRequest::get().insert_header(("X-API-Key", key.expose())),
        ] {
            assert!(
                matches!(read(request), Ok(Some(Credential::ApiKey(found))) if found.hash() == key.hash())
            );
        }
        assert!(matches!(read(TestRequest::get()), Ok(None)));
    }

    /// Covers the threat table (row A2).
    #[test]
    fn key_in_the_url_is_refused_with_a_valid_header_too() {
        for uri in ["/?api_key=x", "/?API_KEY=", "/?a=b&api%5Fkey=x"] {
            let request = TestRequest::with_uri(uri).insert_header(("X-API-Key", "x"));
            assert!(matches!(read(request), Err(Error::KeyInQuery)), "{uri}");
        }
    }

    /// Covers the threat table (row A3).
    #[test]
    fn credentials_that_differ_and_other_schemes_are_refused() {
        let two =
            TestRequest::get().insert_header(("Authorization", "Bearer a")).insert_header(("X-API-Key", "b"));
        assert!(matches!(read(two), Err(Error::KeyInvalid)));
        let twice = TestRequest::get().append_header(("X-API-Key", "a")).append_header(("X-API-Key", "b"));
        assert!(matches!(read(twice), Err(Error::KeyInvalid)));
        let basic = TestRequest::get().insert_header(("Authorization", "Basic dXNlcjpwYXNz"));
        assert!(matches!(read(basic), Err(Error::KeyInvalid)));
    }
}
