//! A request for authorization, checked (OAuth 2.1, section 4.1; design: mcp-oauth.md, section 5.3).
//!
//! Until the client and the redirect URI are known to belong together, nothing is sent to the redirect URI: the user sees a page.
//! After that the client is answered, with its `state` and our `iss`.

use std::net::IpAddr;

use actors::context::OperationContext;
use actors::auth::grants::{Request, pkce};
use entity::oauth_client;
use entity::scope::{Scope, Scopes};

use super::document;
use super::error::{AuthorizationError, OAuthError};
use super::params::Params;
use super::resource;

/// Longer than any honest state.
const LONGEST_STATE: usize = 4096;
/// Asked for by habit of OpenID Connect; no sign of a mistake.
const PASSED_OVER: [&str; 5] = ["openid", "profile", "email", "offline_access", "phone"];

/// What the user of an unknown client can do.
const UNREGISTERED: &str = "It may have registered long ago and been removed since. Remove the connection in the app, then \
                            add it again.";
/// The description of a scope of which nothing may be granted.
pub const UNGRANTABLE: &str = "scope has no scope that an application may be granted; see scopes_supported";

/// Reads a request.
pub async fn read(ctx: &OperationContext, from: Option<IpAddr>, params: &Params) -> Result<Request, AuthorizationError> {
    let client = client(ctx, from, params).await?;
    let redirect_uri = redirect_uri(ctx, params, &client)?;
    let state = params.one("state").unwrap_or_default().map(str::to_owned);
    let asked = asked(ctx, params);
    asked
        .map(|Asked { state, challenge, scopes }| Request {
            client,
            redirect_uri: redirect_uri.clone(),
            state,
            challenge,
            scopes,
        })
        .map_err(|error| AuthorizationError::Redirect { redirect_uri, state, error })
}

async fn client(
    ctx: &OperationContext,
    from: Option<IpAddr>,
    params: &Params,
) -> Result<oauth_client::Model, AuthorizationError> {
    let unknown = || AuthorizationError::Page {
        title: "This app is not registered here",
        text: UNREGISTERED.to_owned(),
    };
    let id = params.one("client_id").map_err(|_| unknown())?.ok_or_else(unknown)?;
    if document::is_named(ctx, id) {
        return document::client(ctx, from, id).await;
    }
    ctx.grants.client(id).await?.ok_or_else(unknown)
}

fn redirect_uri(
    ctx: &OperationContext,
    params: &Params,
    client: &oauth_client::Model,
) -> Result<String, AuthorizationError> {
    let refused =
        |text: String| AuthorizationError::Page { title: "The app's redirect URL is not registered", text };
    let asked = params
        .one("redirect_uri")
        .map_err(|_| refused("The app sent more than one redirect URL.".to_owned()))?
        .ok_or_else(|| refused("The app sent no redirect URL.".to_owned()))?;
    if ctx.grants.redirects().registered(&client.redirect_uris.0, asked) {
        return Ok(asked.to_owned());
    }
    let shown: String = asked.chars().take(300).collect();
    Err(refused(format!(
        "Nothing was sent to it. Remove the connection in the app, then add it again. The redirect URL: {shown}"
    )))
}

/// What a request says beside who asks and where the answer goes.
struct Asked {
    state: String,
    challenge: String,
    scopes: Scopes,
}

fn asked(ctx: &OperationContext, params: &Params) -> Result<Asked, OAuthError> {
    let state = params.one("state")?.ok_or(OAuthError::MissingParameter("state"))?;
    if state.len() > LONGEST_STATE {
        return Err(OAuthError::InvalidRequest("state must have at most 4096 bytes"));
    }
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
    if params.one("response_mode")?.is_some_and(|mode| mode != "query") {
        return Err(OAuthError::InvalidRequest("response_mode must be query"));
    }
    let challenge = params.one("code_challenge")?.ok_or(OAuthError::MissingParameter("code_challenge"))?;
    if params.one("code_challenge_method")? != Some(pkce::METHOD) {
        return Err(OAuthError::InvalidRequest("code_challenge_method must be S256"));
    }
    if !pkce::is_challenge(challenge) {
        return Err(OAuthError::InvalidRequest("code_challenge must have 43 characters of base64url"));
    }
    if !resource::fits(&ctx.core.base_url, params.all("resource")) {
        return Err(OAuthError::InvalidTarget);
    }
    let scopes = scopes(params.one("scope")?).ok_or(OAuthError::InvalidScope(UNGRANTABLE))?;
    Ok(Asked { state: state.to_owned(), challenge: challenge.to_owned(), scopes })
}

/// The permissions that are asked for: what may not be granted is left out beside what may; reading the library where
/// nothing is named; `None` where nothing that is named may be granted.
pub fn scopes(asked: Option<&str>) -> Option<Scopes> {
    let names = asked.unwrap_or_default().split_whitespace().filter(|name| !PASSED_OVER.contains(name));
    let names: Vec<_> = names.collect();
    if names.is_empty() {
        return Some([Scope::ReadLibrary].as_slice().into());
    }
    let known = names.iter().filter_map(|name| name.parse().ok());
    let granted: Scopes = known.filter(|scope| Scope::GRANTABLE.contains(scope)).collect();
    (!granted.is_empty()).then_some(granted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_be_granted_is_left_out_beside_what_may() {
        for (asked, granted) in [
            (None, Some("read:library")),
            (Some("  "), Some("read:library")),
            (Some(" offline_access"), Some("read:library")),
            (Some(" read:projects  write:notes read:projects "), Some("read:projects write:notes")),
            (Some("write:notes ask:library openid"), Some("write:notes")),
            (Some("ask:library"), None),
            (Some("mcp write:uploads everything"), None),
        ] {
            assert_eq!(scopes(asked).map(|scopes| scopes.to_string()).as_deref(), granted, "{asked:?}");
        }
    }
}
