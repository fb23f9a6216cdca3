//! A user of the server, and the user's API keys.

use std::ops::Deref;

use actors::auth::authenticate::RequestInfo;
use actors::auth::caller::{Caller, Credential};
use actors::auth::keys::NewKey;
use actors::auth::secret::Secret;
use entity::{api_key, user};
use serde_json::{Value, json};
use values::id::{KeyId, UserId};
use values::kind::{KeyKind, MeteredSurface};
use values::scope::Scope;

use super::client::Client;
use super::eventually;
use super::mcp_client::McpClient;
use super::server::Server;

/// The password of every user.
pub const PASSWORD: &str = "nine herons in the reeds";

/// An account of a server.
pub struct User<'a> {
    server: &'a Server,
    row: user::Model,
}

impl<'a> User<'a> {
    pub(super) fn of(server: &'a Server, row: user::Model) -> Self {
        Self { server, row }
    }

    pub fn id(&self) -> UserId {
        self.row.id
    }

    pub fn email(&self) -> &str {
        &self.row.email
    }

    /// Creates a REST key with these scopes.
    pub async fn key<const N: usize>(&self, scopes: [Scope; N]) -> Key {
        self.make_key(KeyKind::Rest, &scopes, None).await
    }

    /// Creates a REST key with all scopes of REST.
    pub async fn full_key(&self) -> Key {
        let all: Vec<Scope> = Scope::ALL.iter().copied().filter(|scope| *scope != Scope::Mcp).collect();
        self.make_key(KeyKind::Rest, &all, None).await
    }

    /// Creates a REST key with this hourly limit.
    pub async fn key_with_hourly_limit(&self, hourly: i32) -> Key {
        self.make_key(KeyKind::Rest, &[Scope::ReadLibrary], Some(hourly)).await
    }

    /// Creates an MCP key, which every plan allows.
    pub async fn mcp_key(&self) -> Key {
        self.make_key(KeyKind::Mcp, &[Scope::Mcp, Scope::ReadLibrary], None).await
    }

    /// Creates an MCP client with all scopes of MCP and this hourly limit.
    pub async fn assistant_with_hourly_limit(&self, hourly: Option<i32>) -> McpClient {
        let all = [
            Scope::Mcp,
            Scope::ReadLibrary,
            Scope::ReadProjects,
            Scope::WriteProjects,
            Scope::WriteBookmarks,
            Scope::WriteNotes,
        ];
        McpClient::new(self.make_key(KeyKind::Mcp, &all, hourly).await.client)
    }

    /// Creates an MCP client with all scopes of MCP.
    pub async fn assistant(&self) -> McpClient {
        self.assistant_with_hourly_limit(None).await
    }

    /// Creates an MCP client with these scopes.
    pub async fn assistant_with_scopes<const N: usize>(&self, scopes: [Scope; N]) -> McpClient {
        McpClient::new(self.make_key(KeyKind::Mcp, &scopes, None).await.client)
    }

    /// Authenticates as this user with a new key, to run operations without a surface.
    pub async fn caller(&self) -> Caller {
        let (_, secret) = self.create_key(KeyKind::Rest, &[Scope::ReadLibrary], None).await;
        let request = RequestInfo {
            credential: Ok(Some(Credential::ApiKey(secret))),
            surface: MeteredSurface::Rest,
            ip_address: None,
            client: None,
        };
        self.server.context().auth.authenticator().authenticate(request).await.unwrap()
    }

    async fn make_key(&self, kind: KeyKind, scopes: &[Scope], hourly_limit: Option<i32>) -> Key {
        let (row, secret) = self.create_key(kind, scopes, hourly_limit).await;
        Key::of(row.id, secret.expose(), &self.server.anonymous())
    }

    async fn create_key(
        &self,
        kind: KeyKind,
        scopes: &[Scope],
        hourly_limit: Option<i32>,
    ) -> (api_key::Model, Secret) {
        let (ctx, plan) = (self.server.context(), self.row.plan);
        let new = NewKey {
            name: "reader".to_owned(),
            kind,
            scopes: Some(scopes.into()),
            hourly_limit,
            expires_at: None,
        };
        ctx.auth.keys.create(self.row.id, plan, ctx.core.plans.limits(plan), new).await.unwrap()
    }

    /// Signs in to the web app.
    pub async fn sign_in(&self) -> Client {
        self.server.anonymous().sign_in(&self.row.email, PASSWORD).await
    }
}

/// A client that sends an API key, and the id of the key.
pub struct Key {
    pub id: String,
    client: Client,
}

impl Deref for Key {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Key {
    fn of(id: KeyId, secret: &str, anonymous: &Client) -> Self {
        Self { id: id.to_string(), client: anonymous.clone().with_key(secret) }
    }

    /// Wraps a client that sends the key with this id.
    pub fn new(id: &str, client: Client) -> Self {
        Self { id: id.to_owned(), client }
    }

    /// Saves a URL with this text.
    pub async fn save_text(&self, url: &str, text: &str) -> Value {
        self.save(json!({ "url": url, "text": text })).await
    }

    pub async fn save(&self, body: Value) -> Value {
        self.post("/rest/v1/bookmarks", body).await.data(201)["bookmark"].clone()
    }

    /// Waits until the bookmark has this status, and returns it.
    pub async fn wait_for(&self, bookmark: &Value, status: &str) -> Value {
        let path = format!("/rest/v1/bookmarks/{}", bookmark["bookmarkId"].as_str().unwrap());
        eventually(&format!("a bookmark is {status}"), async || {
            let shown = self.get(&path).await.data(200)["bookmark"].clone();
            (shown["status"] == status).then_some(shown)
        })
        .await
    }

    /// The ids of the documents of the found passages, best first.
    pub async fn search(&self, words: &str) -> Vec<String> {
        let query: String = url::form_urlencoded::byte_serialize(words.as_bytes()).collect();
        let answer = self.get(&format!("/rest/v2/search?q={query}")).await;
        let results = answer.data(200)["results"].as_array().unwrap();
        results.iter().map(|hit| hit["documentId"].as_str().unwrap().to_owned()).collect()
    }
}
