//! A request for authorization, checked (OAuth 2.1, section 4.1; design: mcp-oauth.md, section 5.3).
//!
//! Until client and redirect address are known to belong together nobody is sent anywhere: the fault is a page. After that
//! it is told to the client, with its `state` and our `iss`.

use std::net::IpAddr;

use actors::app::App;
use actors::error::Error;
use actors::grants::{Request, pkce};
use entity::oauth_client;
use entity::scope::{Scope, Scopes};

use super::document::{self, NotRead};
use super::params::{Params, Repeated};
use super::resource;

/// Longer than any honest state.
const LONGEST_STATE: usize = 4096;
/// Asked for by habit of OpenID Connect; no sign of a mistake.
const PASSED_OVER: [&str; 5] = ["openid", "profile", "email", "offline_access", "phone"];

/// Why a request is not taken.
#[derive(Debug)]
pub enum Unfit {
    /// It is told to the person.
    Page {
        /// In a word.
        title: &'static str,
        /// What to do about it.
        text: String,
    },
    /// It is told to the client.
    Back {
        /// One of the client's addresses.
        redirect_uri: String,
        /// What the client wants back.
        state: Option<String>,
        /// In the words of RFC 6749, section 4.1.2.1.
        error: &'static str,
        /// For whoever mends the client.
        description: &'static str,
    },
    /// Something inside went wrong.
    Inside(Error),
}

/// Reads a request.
pub async fn read(app: &App, from: Option<IpAddr>, params: &Params) -> Result<Request, Unfit> {
    let client = client(app, from, params).await?;
    let redirect_uri = redirect_uri(app, params, &client)?;
    let state = params.one("state").unwrap_or_default().map(str::to_owned);
    let asked = asked(app, params);
    asked
        .map(|Asked { state, challenge, scopes }| Request {
            client,
            redirect_uri: redirect_uri.clone(),
            state,
            challenge,
            scopes,
        })
        .map_err(|Fault(error, description)| Unfit::Back { redirect_uri, state, error, description })
}

async fn client(app: &App, from: Option<IpAddr>, params: &Params) -> Result<oauth_client::Model, Unfit> {
    let unknown = || {
        Unfit::Page {
        title: "This app is not known here",
        text: "It may have registered long ago and been forgotten since. Remove the connection in the app, then add it \
               again."
            .to_owned(),
    }
    };
    let id = params.one("client_id").map_err(|Repeated| unknown())?.ok_or_else(unknown)?;
    if document::is_named(app, id) {
        return document::client(app, from, id).await.map_err(|not| match not {
            NotRead::Told(text) => Unfit::Page { title: "This app cannot be connected", text },
            NotRead::Inside(error) => Unfit::Inside(error),
        });
    }
    app.grants.client(id).await.map_err(Unfit::Inside)?.ok_or_else(unknown)
}

fn redirect_uri(app: &App, params: &Params, client: &oauth_client::Model) -> Result<String, Unfit> {
    let title = "This app asked for an answer at a wrong address";
    let fault = |text: String| Unfit::Page { title, text };
    let asked = params
        .one("redirect_uri")
        .map_err(|Repeated| fault("It named more than one address.".to_owned()))?
        .ok_or_else(|| fault("It named no address.".to_owned()))?;
    if app.grants.redirects().registered(&client.redirect_uris.0, asked) {
        return Ok(asked.to_owned());
    }
    let shown: String = asked.chars().take(300).collect();
    Err(fault(format!("It is not one of those that the app registered, so nothing was sent there: {shown}")))
}

/// What a request says beside who asks and where the answer goes.
struct Asked {
    state: String,
    challenge: String,
    scopes: Scopes,
}

/// An error and its description.
struct Fault(&'static str, &'static str);

impl From<Repeated> for Fault {
    fn from(_: Repeated) -> Self {
        Fault("invalid_request", "a parameter is repeated")
    }
}

fn asked(app: &App, params: &Params) -> Result<Asked, Fault> {
    let invalid = |why| Fault("invalid_request", why);
    let state = params.one("state")?.ok_or(invalid("state is missing"))?;
    if state.len() > LONGEST_STATE {
        return Err(invalid("state is too long"));
    }
    if params.one("request")?.is_some() {
        return Err(Fault("request_not_supported", "request objects are not supported"));
    }
    if params.one("request_uri")?.is_some() {
        return Err(Fault("request_uri_not_supported", "request objects are not supported"));
    }
    match params.one("response_type")?.ok_or(invalid("response_type is missing"))? {
        "code" => {}
        _ => return Err(Fault("unsupported_response_type", "response_type must be code")),
    }
    if params.one("response_mode")?.is_some_and(|mode| mode != "query") {
        return Err(invalid("response_mode must be query"));
    }
    let challenge = params.one("code_challenge")?.ok_or(invalid("code_challenge is missing"))?;
    if params.one("code_challenge_method")? != Some(pkce::METHOD) {
        return Err(invalid("code_challenge_method must be S256"));
    }
    if !pkce::is_challenge(challenge) {
        return Err(invalid("code_challenge must be 43 characters of base64url"));
    }
    if !resource::fits(&app.base_url, params.all("resource")) {
        return Err(Fault("invalid_target", "tokens are for the MCP server of this service alone"));
    }
    let scopes = scopes(params.one("scope")?).ok_or(Fault("invalid_scope", "no such permission"))?;
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
