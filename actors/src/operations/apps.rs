//! The applications that a user connected: the web app lists and disconnects them (contract.md, section 9).

use entity::id::GrantId;
use entity::kind::GrantState;
use entity::scope::{Scope, Scopes};
use entity::time::Timestamp;
use entity::{oauth_client, oauth_grant};
use schemars::JsonSchema;
use serde::Serialize;

use super::target::Target;
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use crate::auth::grants::client::shown_name;
use crate::pipeline::Operation;

/// A connected application as its user sees it, in the web app and on the command line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppView {
    /// Names the connection.
    pub id: GrantId,
    /// Its name, made safe to show.
    pub client_name: String,
    /// The home page that it registered.
    pub client_uri: Option<String>,
    /// What it may do.
    pub scopes: Scopes,
    /// When the user consented.
    pub connected_at: Timestamp,
    /// The last request with a token of it.
    pub last_used_at: Option<Timestamp>,
}

impl From<(oauth_grant::Model, oauth_client::Model)> for AppView {
    fn from((grant, client): (oauth_grant::Model, oauth_client::Model)) -> Self {
        Self {
            id: grant.id,
            client_name: shown_name(&client),
            client_uri: client.uri,
            scopes: grant.scopes,
            connected_at: grant.connected_at,
            last_used_at: grant.last_used_at,
        }
    }
}

/// Lists the connected applications of the user.
#[derive(Debug)]
pub struct ListApps;

impl ListApps {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads nothing.
    pub fn read(_: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// A connection that has ended, for as long as its application is remembered.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndedConnectionView {
    client_name: String,
    /// `disconnected` by the person or for want of use, `revoked` by the application or because a secret of it was used
    /// twice.
    state: GrantState,
    connected_at: Timestamp,
    last_used_at: Option<Timestamp>,
}

impl From<(oauth_grant::Model, oauth_client::Model)> for EndedConnectionView {
    fn from((grant, client): (oauth_grant::Model, oauth_client::Model)) -> Self {
        Self {
            client_name: shown_name(&client),
            state: grant.state,
            connected_at: grant.connected_at,
            last_used_at: grant.last_used_at,
        }
    }
}

/// All of them, latest connected first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListAppsResponse {
    apps: Vec<AppView>,
    /// Those that were connected before.
    ended: Vec<EndedConnectionView>,
}

impl Operation for ListApps {
    type Reply = ListAppsResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListAppsResponse, Error> {
        let all = ctx.grants.list_connections(caller.user).await?.into_iter();
        let (living, ended): (Vec<_>, Vec<_>) =
            all.partition(|(grant, _)| grant.state == GrantState::Connected);
        Ok(ListAppsResponse {
            apps: living.into_iter().map(AppView::from).collect(),
            ended: ended.into_iter().map(EndedConnectionView::from).collect(),
        })
    }
}

/// Which application is disconnected.
#[derive(Debug)]
pub struct DisconnectApp(GrantId);

impl DisconnectApp {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// Nothing more to say.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DisconnectAppResponse {}

impl Operation for DisconnectApp {
    type Reply = DisconnectAppResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DisconnectAppResponse, Error> {
        ctx.grants.disconnect(caller.user, self.0).await?;
        Ok(DisconnectAppResponse {})
    }
}
