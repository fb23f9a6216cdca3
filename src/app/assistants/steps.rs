//! The steps of the connection test, in order: each uses the results of earlier ones.

use std::time::Duration;

use actors::auth::caller::Caller;
use actors::auth::context::AuthContext;
use actors::auth::keys::changes;
use actors::auth::secret::Secret;
use errors::Error;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use values::id::ClientId;
use web::probe::{ProbeClient, ProbeResponse, send};
use web::{Guard, PageUrl};

use crate::mcp::LEGACY;

/// A loopback URL, as programs on a user's machine register. No browser is ever sent there.
const REDIRECT: &str = "http://127.0.0.1/connection-test";
const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const SERVER: &str = "/.well-known/oauth-authorization-server";
/// The paths of the authorization server, by their names in its metadata.
const ENDPOINTS: [(&str, &str); 4] = [
    ("registration_endpoint", "/oauth/register"),
    ("authorization_endpoint", "/oauth/authorize"),
    ("token_endpoint", "/oauth/token"),
    ("revocation_endpoint", "/oauth/revoke"),
];
/// Maximum duration of resolving a name.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);

type StepResult<T> = Result<StepSuccess<T>, StepError>;

/// The dependencies of the steps.
pub struct ConnectionTest<'a> {
    pub auth: &'a AuthContext,
    pub probe: &'a ProbeClient,
    /// The name under which the test registers its client.
    pub client_name: &'a str,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepOutcome {
    /// The step succeeded.
    Passed,
    /// The step succeeded, but not for every assistant.
    Limited,
    /// The step failed, which ends the test.
    Failed,
    /// The step did not run, because an earlier one failed.
    Skipped,
}

/// The result of a step for later ones, with a message for the operator.
pub struct StepSuccess<T> {
    pub found: T,
    pub outcome: StepOutcome,
    pub message: String,
}

/// Why a step did not pass.
pub enum StepError {
    /// What is wrong and what to do, for the operator.
    Failed(String),
    /// The server itself failed, which says nothing about the connection.
    Internal(Error),
}

impl<T> StepSuccess<T> {
    fn with(found: T, message: &str) -> Self {
        Self { found, outcome: StepOutcome::Passed, message: message.to_owned() }
    }
}

impl From<String> for StepError {
    fn from(reason: String) -> Self {
        StepError::Failed(reason)
    }
}

impl From<&str> for StepError {
    fn from(reason: &str) -> Self {
        StepError::Failed(reason.to_owned())
    }
}

impl From<Error> for StepError {
    fn from(error: Error) -> Self {
        StepError::Internal(error)
    }
}

impl ConnectionTest<'_> {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.auth.core.base_url)
    }

    /// Resolves the URL. A URL that only this machine or network resolves works only for assistants there.
    pub async fn address(&self) -> StepResult<()> {
        let base = &self.auth.core.base_url;
        let page = PageUrl::parse(base)
            .map_err(|_| "server.base_url is not an http(s) URL; set it to the URL that assistants use")?;
        let host = page.host().trim_matches(['[', ']']).to_owned();
        let lookup = tokio::net::lookup_host((host.as_str(), page.port()));
        let found = tokio::time::timeout(LOOKUP_TIMEOUT, lookup).await;
        let unknown = || {
            format!(
                "the name {host} does not resolve here; correct server.base_url, or add the name to the DNS"
            )
        };
        let found: Vec<_> = found.map_err(|_| unknown())?.map_err(|_| unknown())?.collect();
        // The guard of fetches without the exceptions of `fetch.allow_private`: it knows which addresses are public.
        let everywhere = Guard::default();
        let is_public = everywhere.check_url(&page).is_ok()
            && !found.is_empty()
            && found.iter().all(|found| everywhere.check_ip(found.ip()).is_ok());
        let limited = |message: String| StepSuccess { found: (), outcome: StepOutcome::Limited, message };
        Ok(match (page.url().scheme(), is_public) {
            ("https", true) => StepSuccess::with(
                (),
                &format!(
                    "{base} is a public https URL; this test cannot see whether a firewall blocks other clients"
                ),
            ),
            (_, true) => limited(format!("{base} is not https: assistants that run in a cloud refuse it")),
            (_, false) => limited(format!(
                "{base} is reachable only from this machine or network: assistants that run in a cloud cannot reach it. Set \
                 server.base_url to a public https URL for them"
            )),
        })
    }

    /// Sends a request to /mcp without a credential.
    pub async fn challenge(&self) -> StepResult<()> {
        let request = self.probe.post_json(self.auth.grants.resource(), &initialize());
        let reply = send(request).await?.expect_status(401, "/mcp without a credential")?;
        let wanted = format!("resource_metadata=\"{}\"", self.url(RESOURCE));
        if reply.header("www-authenticate").unwrap_or_default().contains(&wanted) {
            return Ok(StepSuccess::with((), "/mcp names the metadata for the sign-in"));
        }
        Err("the 401 of /mcp does not name the metadata of this server: a proxy may remove the WWW-Authenticate header"
            .into())
    }

    pub async fn resource_metadata(&self) -> StepResult<()> {
        let document = self.document(RESOURCE).await?;
        expect_member(&document, "/resource", self.auth.grants.resource(), RESOURCE)?;
        expect_member(&document, "/authorization_servers/0", &self.auth.core.base_url, RESOURCE)?;
        Ok(StepSuccess::with((), "the metadata of the MCP server is correct"))
    }

    /// Checks that every endpoint is one of this server. Returns the URL of the registration.
    pub async fn server_metadata(&self) -> StepResult<String> {
        let document = self.document(SERVER).await?;
        expect_member(&document, "/issuer", &self.auth.core.base_url, SERVER)?;
        if document.get("registration_endpoint").is_none() {
            return Err("assistants cannot register: oauth.registration is closed. Set oauth.registration to open, use an MCP key, or \
                        set oauth.client_metadata_documents"
                .into());
        }
        for (name, path) in ENDPOINTS {
            expect_member(&document, &format!("/{name}"), &self.url(path), SERVER)?;
        }
        let [(_, registration), ..] = ENDPOINTS;
        Ok(StepSuccess::with(self.url(registration), "the metadata of the sign-in is correct"))
    }

    async fn document(&self, path: &str) -> Result<Value, StepError> {
        Ok(send(self.probe.get(&self.url(path))).await?.expect_status(200, path)?.json(path)?)
    }

    /// Registers the client of the test, and looks it up in the database. Another server that answers at the URL returns no client of
    /// this one, and must not receive the key of the next step.
    pub async fn registration(&self, url: &str) -> StepResult<ClientId> {
        let metadata = json!({
            "client_name": self.client_name,
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "none",
        });
        let reply = send(self.probe.post_json(url, &metadata)).await?;
        if reply.status == 429 {
            return Err(
                "too many clients have registered from this IP address within the hour: try again later"
                    .into(),
            );
        }
        let response = reply.expect_status(201, "registration")?.json("registration")?;
        let id = response.get("client_id").and_then(Value::as_str).unwrap_or_default();
        let client = self.auth.grants.find_client(id).await?;
        let client = client.filter(|client| client.name.as_deref() == Some(self.client_name)).ok_or(
            "another server answers at this URL: it returned a client that this server does not have",
        )?;
        Ok(StepSuccess::with(client.id, "an assistant can register"))
    }

    /// Lists the tools with a key that is deleted afterwards, even if the listing fails.
    pub async fn tools(&self, caller: &Caller) -> StepResult<()> {
        let (accounts, now) = (&self.auth.core.accounts_db, self.auth.core.clock.now());
        let (key, secret) = changes::create_test_key(accounts, caller.user, caller.plan, now).await?;
        let listed = self.list_tools(&secret).await;
        // The key may have expired meanwhile, which ends it too.
        match self.auth.keys.revoke(caller.user, key).await {
            Ok(()) | Err(Error::NotFound(_)) => listed,
            Err(error) => Err(error.into()),
        }
    }

    async fn list_tools(&self, secret: &Secret) -> StepResult<()> {
        self.call(secret, &initialize()).await?.expect_status(200, "initialize")?;
        let reply = self.call(secret, &list()).await?.expect_status(200, "tools/list")?.json("tools/list")?;
        match reply.pointer("/result/tools").and_then(Value::as_array).map_or(0, Vec::len) {
            0 => Err("tools/list returned no tool; check that server.base_url leads to this server".into()),
            tools => {
                let message = format!("an assistant that may read the library gets {tools} tools");
                Ok(StepSuccess::with((), &message))
            }
        }
    }

    async fn call(&self, secret: &Secret, message: &Value) -> Result<ProbeResponse, StepError> {
        let request = self.probe.post_json(self.auth.grants.resource(), message);
        // Both types, as the specification requires of clients; a proxy may insist on it.
        let request = request.header("Accept", "application/json, text/event-stream");
        // The newest revision with a handshake, which all assistants speak.
        let request = request.header("MCP-Protocol-Version", LEGACY[0]);
        Ok(send(request.bearer_auth(secret.expose())).await?)
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

/// Checks a member of a metadata document.
fn expect_member(document: &Value, member: &str, wanted: &str, path: &str) -> Result<(), StepError> {
    if document.pointer(member).is_some_and(|value| value == wanted) {
        return Ok(());
    }
    Err(StepError::Failed(format!(
        "{path} does not have {wanted} as {member}: another server answers at this URL, or this one was started with \
         another server.base_url"
    )))
}
