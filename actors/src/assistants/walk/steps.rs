//! The steps, one after the other: each uses what those before it found.

use entity::id::ClientId;
use entity::scope::Scope;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{Came, Outcome, Step, Walk};
use crate::adapters::probe::{Reply, send};
use crate::address::{Guard, PageUrl};
use crate::error::Error;
use crate::grants::{Request, pkce};

/// A loopback address, as programs on a person's machine register: nobody is ever sent there.
const REDIRECT: &str = "http://127.0.0.1/connection-test";
const STATE: &str = "connection-test";
const PROTOCOL: &str = "2025-11-25";

impl Walk<'_> {
    pub(super) async fn take(&mut self, step: Step) -> Came {
        match step {
            Step::Address => self.address().await,
            Step::Challenge => self.challenge().await,
            Step::ResourceMetadata => self.resource_metadata().await,
            Step::ServerMetadata => self.server_metadata().await,
            Step::Registration => self.registration().await,
            Step::Consent => self.consent().await,
            Step::Token => self.token().await,
            Step::Tools => self.tools().await,
            Step::Revocation => self.revocation().await,
        }
    }

    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.app.base_url)
    }

    /// Where the address leads; one that only this machine or network knows is good for assistants there alone.
    async fn address(&self) -> Came {
        let page =
            PageUrl::parse(&self.app.base_url).map_err(|_| "server.base_url is no address".to_owned())?;
        let host = page.host().trim_matches(['[', ']']).to_owned();
        let found = tokio::net::lookup_host((host.as_str(), page.port())).await;
        let found: Vec<_> = found.map_err(|_| format!("the name {host} does not resolve here"))?.collect();
        let everywhere = Guard::default();
        let public = everywhere.literal(&page).is_ok()
            && !found.is_empty()
            && found.iter().all(|found| everywhere.address(found.ip()).is_ok());
        let base = &self.app.base_url;
        Ok(match (page.url().scheme(), public) {
            ("https", true) => (Outcome::Passed, format!("{base} may be reached from everywhere")),
            (_, true) => {
                (Outcome::Limited, format!("{base} is not https: assistants that run in a cloud refuse it"))
            }
            (_, false) => (
                Outcome::Limited,
                format!(
                    "{base} is known on this machine or network alone: assistants that run in a cloud cannot reach it. \
                     Set server.base_url to a public https address for them"
                ),
            ),
        })
    }

    async fn challenge(&self) -> Came {
        let asked = self.probe.post_json(self.app.grants.resource(), &initialize());
        let reply = send(asked).await?.with(StatusCode::UNAUTHORIZED, "/mcp without a credential")?;
        let wanted = self.at("/.well-known/oauth-protected-resource/mcp");
        let said = reply.header("www-authenticate").unwrap_or_default();
        if said.contains(&format!("resource_metadata=\"{wanted}\"")) {
            return Ok((Outcome::Passed, "/mcp says where to sign in".to_owned()));
        }
        Err("the 401 of /mcp does not name this Carrel's metadata: a proxy in front may take the WWW-Authenticate header away".to_owned())
    }

    async fn resource_metadata(&self) -> Came {
        let path = "/.well-known/oauth-protected-resource/mcp";
        let document = self.document(path).await?;
        is(&document, "/resource", self.app.grants.resource(), path)?;
        is(&document, "/authorization_servers/0", &self.app.base_url, path)?;
        Ok((Outcome::Passed, "the metadata of the MCP server is as it should be".to_owned()))
    }

    async fn server_metadata(&self) -> Came {
        let path = "/.well-known/oauth-authorization-server";
        let document = self.document(path).await?;
        is(&document, "/issuer", &self.app.base_url, path)?;
        if document.get("registration_endpoint").is_none() {
            return Err("assistants cannot introduce themselves: oauth.registration is closed. They connect by an MCP key, or after it is opened".to_owned());
        }
        Ok((Outcome::Passed, "the metadata of the sign-in is as it should be".to_owned()))
    }

    async fn document(&self, path: &str) -> Result<Value, String> {
        send(self.probe.get(&self.at(path), &[])).await?.with(StatusCode::OK, path)?.json(path)
    }

    async fn registration(&mut self) -> Came {
        let about = json!({
            "client_name": "Connection test of Carrel",
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "none",
        });
        let reply = send(self.probe.post_json(&self.at("/oauth/register"), &about)).await?;
        if reply.status == StatusCode::TOO_MANY_REQUESTS {
            return Err("too many programs have introduced themselves from this address within the hour: try again later".to_owned());
        }
        let made = reply.with(StatusCode::CREATED, "/oauth/register")?.json("/oauth/register")?;
        let id: Option<ClientId> =
            made.get("client_id").and_then(Value::as_str).and_then(|id| id.parse().ok());
        let id = id.ok_or("/oauth/register named no client")?;
        self.app.grants.begin_walk(id);
        self.client = Some(id);
        Ok((Outcome::Passed, "an assistant can introduce itself".to_owned()))
    }

    /// The page is asked for as a browser would that is not signed in; the click is the person's, who asked for this walk.
    async fn consent(&mut self) -> Came {
        let (client, challenge) =
            (self.client.ok_or("there is no client")?, pkce::challenge_of(self.verifier.expose()));
        let query = [
            ("response_type", "code"),
            ("client_id", &client.to_string()),
            ("redirect_uri", REDIRECT),
            ("state", STATE),
            ("code_challenge", &challenge),
            ("code_challenge_method", pkce::METHOD),
            ("scope", Scope::ReadLibrary.name()),
        ];
        let page = send(self.probe.get(&self.at("/oauth/authorize"), &query)).await?;
        if !page.status.is_success() && !page.status.is_redirection() {
            return Err(format!("the sign-in page answered {}", page.status.as_u16()));
        }
        let code = self.click(client, challenge).await.map_err(|error| error.to_string())?;
        self.code = Some(code.ok_or("the consent was not taken: sign in to the app again")?);
        Ok((Outcome::Passed, "the sign-in page is there, and consent gives a code".to_owned()))
    }

    async fn click(&self, client: ClientId, challenge: String) -> Result<Option<String>, Error> {
        let grants = &self.app.grants;
        let Some(client) = grants.client(&client.to_string()).await? else { return Ok(None) };
        let offered = [Scope::ReadLibrary].as_slice().into();
        let request = Request {
            client,
            redirect_uri: REDIRECT.to_owned(),
            state: STATE.to_owned(),
            challenge,
            scopes: [Scope::ReadLibrary].as_slice().into(),
        };
        let ticket = grants.ask(request, self.browser, offered).await?;
        let ticked = [Scope::ReadLibrary].as_slice().into();
        let decided = grants.decide(self.browser, ticket, ticked).await?;
        Ok(decided.and_then(|decided| decided.code).map(|code| code.expose().to_owned()))
    }

    async fn token(&mut self) -> Came {
        let client = self.client.ok_or("there is no client")?.to_string();
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", &client),
            ("redirect_uri", REDIRECT),
            ("code", self.code.as_deref().unwrap_or_default()),
            ("code_verifier", self.verifier.expose()),
        ];
        let reply = send(self.probe.post_form(&self.at("/oauth/token"), &form)).await?;
        let tokens = reply.with(StatusCode::OK, "/oauth/token")?.json("/oauth/token")?;
        let token = |name: &str| tokens.get(name).and_then(Value::as_str).map(str::to_owned);
        (self.access, self.refresh) = (token("access_token"), token("refresh_token"));
        if self.access.is_none() || self.refresh.is_none() {
            return Err("/oauth/token gave no tokens".to_owned());
        }
        Ok((Outcome::Passed, "the code becomes tokens".to_owned()))
    }

    async fn tools(&self) -> Came {
        self.call(&initialize()).await?.with(StatusCode::OK, "initialize")?;
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        let reply = self.call(&list).await?.with(StatusCode::OK, "tools/list")?.json("tools/list")?;
        match reply.pointer("/result/tools").and_then(Value::as_array).map_or(0, Vec::len) {
            0 => Err("tools/list named no tool".to_owned()),
            tools => Ok((
                Outcome::Passed,
                format!("an assistant that may read the library is shown {tools} tools"),
            )),
        }
    }

    async fn call(&self, message: &Value) -> Result<Reply, String> {
        let request = self.probe.post_json(self.app.grants.resource(), message);
        let request = request.header("Accept", "application/json, text/event-stream");
        let request = request.header("MCP-Protocol-Version", PROTOCOL);
        send(request.bearer_auth(self.access.as_deref().unwrap_or_default())).await
    }

    async fn revocation(&self) -> Came {
        let client = self.client.ok_or("there is no client")?.to_string();
        let form = [("token", self.refresh.as_deref().unwrap_or_default()), ("client_id", &client)];
        send(self.probe.post_form(&self.at("/oauth/revoke"), &form))
            .await?
            .with(StatusCode::OK, "/oauth/revoke")?;
        let list = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
        self.call(&list).await?.with(StatusCode::UNAUTHORIZED, "tools/list with a revoked token")?;
        Ok((Outcome::Passed, "revoked tokens open nothing any more".to_owned()))
    }
}

fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": PROTOCOL,
            "capabilities": {},
            "clientInfo": { "name": "carrel-connection-test", "version": env!("CARGO_PKG_VERSION") },
        },
    })
}

/// Whether the document at this path says what is wanted.
fn is(document: &Value, member: &str, wanted: &str, path: &str) -> Result<(), String> {
    if document.pointer(member).is_some_and(|said| said == wanted) {
        return Ok(());
    }
    Err(format!(
        "{path} does not say {wanted} in {member}: another service answers at this address, or this one was started with \
         another server.base_url"
    ))
}
