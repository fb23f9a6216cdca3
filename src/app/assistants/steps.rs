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
use web::probe::{ProbeClient, ProbeError, ProbeResponse, send};
use web::{Guard, PageUrl};

use super::step_message::{StepMessage, UNAUTHENTICATED_CALL};
use crate::mcp::LEGACY;

/// A loopback URL, as programs on a user's machine register. No browser is ever sent there.
const REDIRECT: &str = "http://127.0.0.1/connection-test";
const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const REGISTRATION: &str = "/oauth/register";
/// The paths of the authorization server, by their names in its metadata.
const ENDPOINTS: [(&str, &str); 4] = [
    ("registration_endpoint", REGISTRATION),
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
    pub message: StepMessage,
}

/// Why a step did not pass.
pub enum StepError {
    /// What is wrong and what to do, for the operator.
    Failed(StepMessage),
    /// The server itself failed, which says nothing about the connection.
    Internal(Error),
}

impl<T> StepSuccess<T> {
    fn with(found: T, message: StepMessage) -> Self {
        Self { found, outcome: StepOutcome::Passed, message }
    }
}

impl From<StepMessage> for StepError {
    fn from(reason: StepMessage) -> Self {
        StepError::Failed(reason)
    }
}

impl From<ProbeError> for StepError {
    fn from(error: ProbeError) -> Self {
        StepError::Failed(StepMessage::Probe(error))
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
        let page = PageUrl::parse(base).map_err(|_| StepMessage::InvalidBaseUrl)?;
        let host = page.host().trim_matches(['[', ']']).to_owned();
        let lookup = tokio::net::lookup_host((host.as_str(), page.port()));
        let found = tokio::time::timeout(LOOKUP_TIMEOUT, lookup).await;
        let unknown = || StepMessage::UnknownHost(host.clone());
        let found: Vec<_> = found.map_err(|_| unknown())?.map_err(|_| unknown())?.collect();
        // The guard of fetches without the exceptions of `fetch.allow_private`: it knows which addresses are public.
        let everywhere = Guard::default();
        let is_public = everywhere.check_url(&page).is_ok()
            && !found.is_empty()
            && found.iter().all(|found| everywhere.check_ip(found.ip()).is_ok());
        let limited = |message| StepSuccess { found: (), outcome: StepOutcome::Limited, message };
        let base = base.to_string();
        Ok(match (page.url().scheme(), is_public) {
            ("https", true) => StepSuccess::with((), StepMessage::PublicUrl(base)),
            (_, true) => limited(StepMessage::PlainUrl(base)),
            (_, false) => limited(StepMessage::PrivateUrl(base)),
        })
    }

    /// Sends a request to /mcp without a credential.
    pub async fn challenge(&self) -> StepResult<()> {
        let request = self.probe.post_json(self.auth.grants.resource(), &initialize());
        let reply = send(request).await?.expect_status(401, UNAUTHENTICATED_CALL)?;
        let wanted = format!("resource_metadata=\"{}\"", self.url(RESOURCE));
        if reply.header("www-authenticate").unwrap_or_default().contains(&wanted) {
            return Ok(StepSuccess::with((), StepMessage::Challenge));
        }
        Err(StepMessage::NoChallenge.into())
    }

    pub async fn resource_metadata(&self) -> StepResult<()> {
        let document = self.document(RESOURCE).await?;
        expect_member(&document, "/resource", self.auth.grants.resource(), RESOURCE)?;
        expect_member(&document, "/authorization_servers/0", &self.auth.core.base_url, RESOURCE)?;
        Ok(StepSuccess::with((), StepMessage::ResourceMetadata))
    }

    /// Checks that every endpoint is one of this server. Returns the URL of the registration.
    pub async fn server_metadata(&self) -> StepResult<String> {
        let document = self.document(SERVER).await?;
        expect_member(&document, "/issuer", &self.auth.core.base_url, SERVER)?;
        if document.get("registration_endpoint").is_none() {
            return Err(StepMessage::RegistrationClosed.into());
        }
        for (name, path) in ENDPOINTS {
            expect_member(&document, &format!("/{name}"), &self.url(path), SERVER)?;
        }
        Ok(StepSuccess::with(self.url(REGISTRATION), StepMessage::ServerMetadata))
    }

    async fn document(&self, path: &'static str) -> Result<Value, StepError> {
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
            return Err(StepMessage::TooManyRegistrations.into());
        }
        let response = reply.expect_status(201, REGISTRATION)?.json(REGISTRATION)?;
        let id = response.get("client_id").and_then(Value::as_str).unwrap_or_default();
        let client = self.auth.grants.find_client(id).await?;
        let client = client.filter(|client| client.name.as_deref() == Some(self.client_name));
        let client = client.ok_or(StepMessage::ForeignClient)?;
        Ok(StepSuccess::with(client.id, StepMessage::Registration))
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
            0 => Err(StepMessage::NoTools.into()),
            tools => Ok(StepSuccess::with((), StepMessage::Tools(tools))),
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
fn expect_member(
    document: &Value,
    member: &str,
    wanted: &str,
    path: &'static str,
) -> Result<(), StepMessage> {
    if document.pointer(member).is_some_and(|value| value == wanted) {
        return Ok(());
    }
    Err(StepMessage::WrongMember { path, member: member.to_owned(), wanted: wanted.to_owned() })
}
