//! Checks requests for authorization (OAuth 2.1, section 4.1).
//!
//! Until the client and the redirect URI are known to belong together, nothing is sent to the redirect URI: the user sees a page.
//! After that the client is answered, with its `state` and our `iss`.

use std::net::IpAddr;

use actors::auth::context::AuthContext;
use actors::auth::grants::{AuthorizationRequest, pkce};
use actors::context::OperationContext;
use entity::oauth_client;
use library::context::CoreContext;
use values::scope::{Scope, Scopes};

use super::document;
use super::error::{AuthorizationError, OAuthError};
use super::params::Params;
use super::resource;

/// The longest `state` that is sent back; those of honest clients are much shorter.
const MAX_STATE_BYTES: usize = 4096;
/// Scopes of OpenID Connect that clients request by habit, some in every request. They are ignored.
const IGNORED_SCOPES: [&str; 5] = ["openid", "profile", "email", "offline_access", "phone"];

/// What the user of an unknown client can do.
const UNREGISTERED_TEXT: &str = "It may have registered long ago and been removed since. Remove the connection in the app, then \
                            add it again.";
/// The `error_description` if none of the requested scopes may be granted.
pub const UNGRANTABLE_SCOPE: &str = "scope has no scope that an app may be granted; see scopes_supported";

/// Reads and checks a request. `from` is the IP address of the browser.
///
/// # Errors
/// [`AuthorizationError::Page`] while the redirect URI is not known to be the
/// client's, and [`AuthorizationError::Redirect`] from then on.
pub async fn read_request(
    ctx: &OperationContext,
    from: Option<IpAddr>,
    params: &Params,
) -> Result<AuthorizationRequest, AuthorizationError> {
    let client = find_client(ctx, from, params).await?;
    let redirect_uri = redirect_uri(&ctx.auth, params, &client)?;
    match authorization_params(&ctx.core, params) {
        Ok(AuthorizationParams { state, challenge, scopes }) => {
            Ok(AuthorizationRequest { client, redirect_uri, state, challenge, scopes })
        }
        Err(error) => {
            // A repeated `state` may be the fault itself. The client then gets the error without one.
            let state = params.one("state").unwrap_or_default().map(str::to_owned);
            Err(AuthorizationError::Redirect { redirect_uri, state, error })
        }
    }
}

async fn find_client(
    ctx: &OperationContext,
    from: Option<IpAddr>,
    params: &Params,
) -> Result<oauth_client::Model, AuthorizationError> {
    let unknown = || AuthorizationError::Page {
        title: "This app is not registered here",
        text: UNREGISTERED_TEXT.to_owned(),
    };
    // A repeated id is like an unknown one: there is no client that the error could be sent to.
    let id = params.one("client_id").map_err(|_| unknown())?.ok_or_else(unknown)?;
    if document::is_document_id(&ctx.auth, id) {
        return document::find_client(ctx, from, id).await;
    }
    ctx.auth.grants.find_client(id).await?.ok_or_else(unknown)
}

fn redirect_uri(
    auth: &AuthContext,
    params: &Params,
    client: &oauth_client::Model,
) -> Result<String, AuthorizationError> {
    let invalid = |fault: &str| AuthorizationError::Page {
        title: "The app's request is not valid",
        text: format!("The app sent {fault}. Update the app, or tell its developer."),
    };
    let requested = params
        .one("redirect_uri")
        .map_err(|_| invalid("more than one redirect URL"))?
        .ok_or_else(|| invalid("no redirect URL"))?;
    // By default compared as strings: a normalized URL could match one that the client never registered (RFC 9700, section
    // 4.1.3).
    if auth.grants.redirect_rules().is_registered(&client.redirect_uris.0, requested) {
        return Ok(requested.to_owned());
    }
    let shown: String = requested.chars().take(300).collect();
    Err(AuthorizationError::Page {
        title: "The app's redirect URL is not registered",
        text: format!(
            "Carrel did not send you on to {shown}, because the app has not registered this URL. Remove the connection in the app, \
             then add it again."
        ),
    })
}

/// The parameters of a request other than the client and the redirect URI.
struct AuthorizationParams {
    state: String,
    challenge: String,
    scopes: Scopes,
}

fn authorization_params(core: &CoreContext, params: &Params) -> Result<AuthorizationParams, OAuthError> {
    // OAuth 2.1 only recommends `state`; spec.md requires it.
    let state = params.one("state")?.ok_or(OAuthError::MissingParameter("state"))?;
    if state.len() > MAX_STATE_BYTES {
        return Err(OAuthError::ParameterTooLong { name: "state", max_bytes: MAX_STATE_BYTES });
    }
    // A `request_uri` is never fetched: the client could make the server send requests to hosts of its choice.
    if params.one("request")?.is_some() {
        return Err(OAuthError::RequestNotSupported);
    }
    if params.one("request_uri")?.is_some() {
        return Err(OAuthError::RequestUriNotSupported);
    }
    match params.one("response_type")?.ok_or(OAuthError::MissingParameter("response_type"))? {
        "code" => {}
        _ => return Err(OAuthError::UnsupportedResponseType),
    }
    // A client that asks for `fragment` or `form_post` would wait for the code where it does not arrive.
    if params.one("response_mode")?.is_some_and(|mode| mode != "query") {
        return Err(OAuthError::InvalidRequest("response_mode must be query"));
    }
    let challenge = params.one("code_challenge")?.ok_or(OAuthError::MissingParameter("code_challenge"))?;
    // A missing method means `plain` (RFC 7636, section 4.3), which is refused.
    if params.one("code_challenge_method")? != Some(pkce::METHOD) {
        return Err(OAuthError::InvalidRequest("code_challenge_method must be S256"));
    }
    if !pkce::is_challenge(challenge) {
        return Err(OAuthError::InvalidRequest("code_challenge must have 43 characters of base64url"));
    }
    if !resource::is_own(&core.base_url, params.all("resource")) {
        return Err(OAuthError::InvalidTarget);
    }
    let scopes = scopes(params.one("scope")?).ok_or(OAuthError::InvalidScope(UNGRANTABLE_SCOPE))?;
    Ok(AuthorizationParams { state: state.to_owned(), challenge: challenge.to_owned(), scopes })
}

/// The requested scopes that may be granted; reading the library if none is requested; `None` if none of
/// the requested ones may be granted.
pub fn scopes(requested: Option<&str>) -> Option<Scopes> {
    let names =
        // Any white space: a client sends a space before its first scope.
        requested.unwrap_or_default().split_whitespace().filter(|name| !IGNORED_SCOPES.contains(name));
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return Some([Scope::ReadLibrary].as_slice().into());
    }
    // Unknown scopes are dropped, not refused: clients send scopes of other servers along with valid ones.
    let known = names.iter().filter_map(|name| name.parse().ok());
    let grantable: Scopes = known.filter(|scope| Scope::GRANTABLE.contains(scope)).collect();
    (!grantable.is_empty()).then_some(grantable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_that_may_not_be_granted_are_left_out() {
        for (requested, granted) in [
            (None, Some("read:library")),
            (Some("  "), Some("read:library")),
            (Some(" offline_access"), Some("read:library")),
            (Some(" read:projects  write:notes read:projects "), Some("read:projects write:notes")),
            (Some("write:notes ask:library openid"), Some("write:notes")),
            (Some("ask:library"), None),
            (Some("mcp write:uploads everything"), None),
        ] {
            assert_eq!(
                scopes(requested).map(|scopes| scopes.to_string()).as_deref(),
                granted,
                "{requested:?}"
            );
        }
    }
}
