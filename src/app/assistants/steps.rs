//! The steps, one after the other: each uses what those before it found.

use std::time::Duration;

use actors::app::App;
use actors::error::Error;
use actors::grants::{Browser, Request, pkce};
use actors::keys::secret::Secret;
use entity::oauth_client;
use entity::scope::{Scope, Scopes};
use serde_json::{Value, json};
use web::probe::{ProbeClient, ProbeResponse, send};
use web::{Guard, PageUrl};

use super::walk::{Found, Outcome, Stopped};
use crate::mcp::LEGACY;

/// A loopback address, as programs on a person's machine register: nobody is ever sent there.
const REDIRECT: &str = "http://127.0.0.1/connection-test";
const STATE: &str = "connection-test";
const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const SERVER: &str = "/.well-known/oauth-authorization-server";
/// A verifier is made as tokens are, and looks like none.
const VERIFIER_PREFIX: &str = "cv_";
/// A name resolves within this time.
const LOOKUP: Duration = Duration::from_secs(5);

type Came<T> = Result<Found<T>, Stopped>;

/// Along which the steps go.
pub struct Way<'a> {
    pub app: &'a App,
    pub probe: &'a ProbeClient,
    /// What the client of the walk calls itself.
    pub name: &'a str,
}

/// Where an assistant is told to go.
pub struct Endpoints {
    authorization: String,
    token: String,
    registration: String,
    revocation: String,
}

/// A code, with what it takes to exchange it.
pub struct Consented {
    client: oauth_client::Model,
    code: Secret,
    verifier: Secret,
}

/// The first tokens.
pub struct Tokens {
    access: String,
    refresh: String,
}

impl Way<'_> {
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.app.base_url)
    }

    /// Where the address leads; one that only this machine or network knows is good for assistants there alone.
    pub async fn address(&self) -> Came<()> {
        let base = &self.app.base_url;
        let page = PageUrl::parse(base).map_err(|_| "server.base_url is no address")?;
        let host = page.host().trim_matches(['[', ']']).to_owned();
        let lookup = tokio::net::lookup_host((host.as_str(), page.port()));
        let found = tokio::time::timeout(LOOKUP, lookup).await;
        let unknown = || format!("the name {host} does not resolve here");
        let found: Vec<_> = found.map_err(|_| unknown())?.map_err(|_| unknown())?.collect();
        let everywhere = Guard::default();
        let public = everywhere.check_url(&page).is_ok()
            && !found.is_empty()
            && found.iter().all(|found| everywhere.check_ip(found.ip()).is_ok());
        let limited = |message: String| Found { next: (), outcome: Outcome::Limited, message };
        Ok(match (page.url().scheme(), public) {
            ("https", true) => {
                let open =
                    "is a public https address; whether a firewall lets strangers in is not seen from here";
                Found::good((), &format!("{base} {open}"))
            }
            (_, true) => limited(format!("{base} is not https: assistants that run in a cloud refuse it")),
            (_, false) => limited(format!(
                "{base} is known on this machine or network alone: assistants that run in a cloud cannot reach it. Set \
                 server.base_url to a public https address for them"
            )),
        })
    }

    pub async fn challenge(&self) -> Came<()> {
        let asked = self.probe.post_json(self.app.grants.resource(), &initialize());
        let reply = send(asked).await?.expect_status(401, "/mcp without a credential")?;
        let wanted = format!("resource_metadata=\"{}\"", self.at(RESOURCE));
        if reply.header("www-authenticate").unwrap_or_default().contains(&wanted) {
            return Ok(Found::good((), "/mcp says where to sign in"));
        }
        Err("the 401 of /mcp does not name this Carrel's metadata: a proxy in front may take the WWW-Authenticate header away"
            .into())
    }

    pub async fn resource_metadata(&self) -> Came<()> {
        let document = self.document(RESOURCE).await?;
        is(&document, "/resource", self.app.grants.resource(), RESOURCE)?;
        is(&document, "/authorization_servers/0", &self.app.base_url, RESOURCE)?;
        Ok(Found::good((), "the metadata of the MCP server is as it should be"))
    }

    pub async fn server_metadata(&self) -> Came<Endpoints> {
        let document = self.document(SERVER).await?;
        is(&document, "/issuer", &self.app.base_url, SERVER)?;
        let closed = "assistants cannot introduce themselves: oauth.registration is closed. They connect by an MCP key, after it \
                      is opened, or by a document about themselves where oauth.client_metadata_documents allows that";
        // Codes and tokens of the person go nowhere but to this very service, whoever answers at its address.
        let own = |name: &str, path: &str| {
            let address = self.at(path);
            is(&document, &format!("/{name}"), &address, SERVER).map(|()| address)
        };
        if document.get("registration_endpoint").is_none() {
            return Err(closed.into());
        }
        let endpoints = Endpoints {
            registration: own("registration_endpoint", "/oauth/register")?,
            authorization: own("authorization_endpoint", "/oauth/authorize")?,
            token: own("token_endpoint", "/oauth/token")?,
            revocation: own("revocation_endpoint", "/oauth/revoke")?,
        };
        Ok(Found::good(endpoints, "the metadata of the sign-in is as it should be"))
    }

    async fn document(&self, path: &str) -> Result<Value, Stopped> {
        Ok(send(self.probe.get(&self.at(path), &[])).await?.expect_status(200, path)?.json(path)?)
    }

    /// The client is looked at here, not only in the answer: another service at the address names no client of ours.
    pub async fn registration(&self, to: &Endpoints) -> Came<oauth_client::Model> {
        let about = json!({
            "client_name": self.name,
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "none",
        });
        let reply = send(self.probe.post_json(&to.registration, &about)).await?;
        if reply.status == 429 {
            return Err("too many programs have introduced themselves from this address within the hour: try again later".into());
        }
        let made = reply.expect_status(201, "registration")?.json("registration")?;
        let id = made.get("client_id").and_then(Value::as_str).unwrap_or_default();
        let client =
            self.app.grants.client(id).await?.filter(|client| client.name.as_deref() == Some(self.name));
        let client = client
            .ok_or("another service answers at this address: it named a client that is none of this one")?;
        self.app.grants.begin_walk(client.id).await?;
        Ok(Found::good(client, "an assistant can introduce itself"))
    }

    /// The page is asked for as a browser would that is not signed in; the click is the person's, who asked for this walk.
    pub async fn consent(
        &self,
        to: &Endpoints,
        client: oauth_client::Model,
        browser: Browser,
    ) -> Came<Consented> {
        let verifier = Secret::new_token(VERIFIER_PREFIX).map_err(Error::internal)?;
        let challenge = pkce::challenge_of(verifier.expose());
        let id = client.id.to_string();
        let query = [
            ("response_type", "code"),
            ("client_id", id.as_str()),
            ("redirect_uri", REDIRECT),
            ("state", STATE),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", pkce::METHOD),
            ("scope", Scope::ReadLibrary.name()),
        ];
        send(self.probe.get(&to.authorization, &query)).await?.expect_status(200, "the sign-in page")?;
        let scopes: Scopes = [Scope::ReadLibrary].as_slice().into();
        let request = Request {
            client: client.clone(),
            redirect_uri: REDIRECT.to_owned(),
            state: STATE.to_owned(),
            challenge,
            scopes: scopes.clone(),
        };
        let ticket = self.app.grants.ask(request, browser, scopes.clone()).await?;
        let decided = self.app.grants.decide(browser, ticket, scopes).await?;
        let code = decided.and_then(|decided| decided.code);
        let code = code.ok_or("the consent was not taken: sign in to the app again")?;
        Ok(Found::good(
            Consented { client, code, verifier },
            "the sign-in page is there, and consent gives a code",
        ))
    }

    pub async fn token(&self, to: &Endpoints, consented: &Consented) -> Came<Tokens> {
        let client = consented.client.id.to_string();
        let form = [
            ("grant_type", "authorization_code"),
            ("client_id", client.as_str()),
            ("redirect_uri", REDIRECT),
            ("code", consented.code.expose()),
            ("code_verifier", consented.verifier.expose()),
        ];
        let given =
            send(self.probe.post_form(&to.token, &form)).await?.expect_status(200, "the token endpoint")?;
        let given = given.json("the token endpoint")?;
        let token = |name: &str| given.get(name).and_then(Value::as_str).map(str::to_owned);
        match token("access_token").zip(token("refresh_token")) {
            Some((access, refresh)) => Ok(Found::good(Tokens { access, refresh }, "the code becomes tokens")),
            None => Err("the token endpoint gave no tokens".into()),
        }
    }

    pub async fn tools(&self, tokens: &Tokens) -> Came<()> {
        self.call(tokens, &initialize()).await?.expect_status(200, "initialize")?;
        let reply = self.call(tokens, &list()).await?.expect_status(200, "tools/list")?.json("tools/list")?;
        match reply.pointer("/result/tools").and_then(Value::as_array).map_or(0, Vec::len) {
            0 => Err("tools/list named no tool".into()),
            tools => {
                Ok(Found::good((), &format!("an assistant that may read the library is shown {tools} tools")))
            }
        }
    }

    pub async fn revocation(&self, to: &Endpoints, consented: &Consented, tokens: &Tokens) -> Came<()> {
        let client = consented.client.id.to_string();
        let form = [("token", tokens.refresh.as_str()), ("client_id", client.as_str())];
        send(self.probe.post_form(&to.revocation, &form))
            .await?
            .expect_status(200, "the revocation endpoint")?;
        // It was good once, so it is no guess that would count for this address.
        let again = [
            ("grant_type", "refresh_token"),
            ("client_id", client.as_str()),
            ("refresh_token", tokens.refresh.as_str()),
        ];
        send(self.probe.post_form(&to.token, &again))
            .await?
            .expect_status(400, "a refresh by a revoked token")?;
        Ok(Found::good((), "revoked tokens open nothing any more"))
    }

    async fn call(&self, tokens: &Tokens, message: &Value) -> Result<ProbeResponse, Stopped> {
        let request = self.probe.post_json(self.app.grants.resource(), message);
        let request = request.header("Accept", "application/json, text/event-stream");
        let request = request.header("MCP-Protocol-Version", LEGACY[0]);
        Ok(send(request.bearer_auth(&tokens.access)).await?)
    }
}

fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": LEGACY[0],
            "capabilities": {},
            "clientInfo": { "name": "carrel-connection-test", "version": env!("CARGO_PKG_VERSION") },
        },
    })
}

fn list() -> Value {
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" })
}

/// Whether the document at this path says what is wanted.
fn is(document: &Value, member: &str, wanted: &str, path: &str) -> Result<(), Stopped> {
    if document.pointer(member).is_some_and(|said| said == wanted) {
        return Ok(());
    }
    Err(Stopped::Told(format!(
        "{path} does not say {wanted} in {member}: another service answers at this address, or this one was started with \
         another server.base_url"
    )))
}
