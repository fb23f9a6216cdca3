//! Lists and disconnects the apps that a user connected by OAuth (contract.md, section 9).
//!
//! They need no scope, because only the session of the web app reaches them.

use entity::{oauth_client, oauth_grant};
use schemars::JsonSchema;
use serde::Serialize;
use values::id::GrantId;
use values::kind::GrantState;
use values::scope::{Scope, Scopes};
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::auth::grants::client::shown_name;
use crate::auth::grants::redirect::{is_local, shown_host};
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// A connected app, as the web app and the command line show it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppView {
    /// Id of the connected app. Connecting the app again keeps it.
    pub id: GrantId,
    /// Name under which the app registered, made safe to show.
    pub client_name: String,
    /// Home page that the app registered; null if it registered none.
    pub client_uri: Option<String>,
    /// Host to which browsers are sent back after the consent; null if the app registered none.
    pub host: Option<String>,
    /// Whether that is a program on the computer of the user.
    pub is_local: bool,
    /// Scopes that the user granted; scopes that the plan does not include are ignored.
    pub scopes: Scopes,
    /// When the app was last connected.
    pub connected_at: Timestamp,
    /// When one of its tokens was last used; null before the first use.
    pub last_used_at: Option<Timestamp>,
}

impl From<(oauth_grant::Model, oauth_client::Model)> for AppView {
    fn from((grant, client): (oauth_grant::Model, oauth_client::Model)) -> Self {
        let redirect = client.redirect_uris.0.first();
        Self {
            id: grant.id,
            client_name: shown_name(&client),
            host: redirect.map(|uri| shown_host(uri)),
            is_local: redirect.is_some_and(|uri| is_local(uri)),
            client_uri: client.uri,
            scopes: grant.scopes,
            connected_at: grant.connected_at,
            last_used_at: grant.last_used_at,
        }
    }
}

/// Lists the connected apps of the user.
#[derive(Debug)]
pub struct ListApps;

impl FromRequest for ListApps {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// An app whose grant has ended; it is listed as long as its registration is stored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndedAppView {
    /// Name under which the app registered, made safe to show.
    pub client_name: String,
    /// `disconnected`: ended by the user, or because it was not used for long. `revoked`: ended by the app, or because one
    /// of its codes or tokens was used twice.
    pub state: GrantState,
    /// When the app was last connected.
    pub connected_at: Timestamp,
    /// When one of its tokens was last used; null if none was.
    pub last_used_at: Option<Timestamp>,
}

impl From<(oauth_grant::Model, oauth_client::Model)> for EndedAppView {
    fn from((grant, client): (oauth_grant::Model, oauth_client::Model)) -> Self {
        Self {
            client_name: shown_name(&client),
            state: grant.state,
            connected_at: grant.connected_at,
            last_used_at: grant.last_used_at,
        }
    }
}

/// The connected apps, latest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListAppsResponse {
    /// The apps that are connected.
    pub apps: Vec<AppView>,
    /// Apps whose grants have ended. They are removed together with their registrations.
    pub ended: Vec<EndedAppView>,
}

impl Operation for ListApps {
    type Reply = ListAppsResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListAppsResponse, Error> {
        let all = ctx.auth.grants.list_grants(caller.user).await?.into_iter();
        let (connected, ended): (Vec<_>, Vec<_>) =
            all.partition(|(grant, _)| grant.state == GrantState::Connected);
        Ok(ListAppsResponse {
            apps: connected.into_iter().map(AppView::from).collect(),
            ended: ended.into_iter().map(EndedAppView::from).collect(),
        })
    }
}

/// Ends the grant of a connected app: its tokens are refused from now on, and the app must be connected again.
#[derive(Debug)]
pub struct DisconnectApp(GrantId);

impl FromRequest for DisconnectApp {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The app is disconnected; its next call is refused.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DisconnectAppResponse {}

impl Operation for DisconnectApp {
    type Reply = DisconnectAppResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DisconnectAppResponse, Error> {
        ctx.auth.grants.disconnect(caller.user, self.0).await?;
        Ok(DisconnectAppResponse {})
    }
}
