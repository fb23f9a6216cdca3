//! The caller of a request: the credential that it presented, and the identity that this proved.

use std::sync::Arc;

use entity::user;
use library::idempotency_claim::ClaimId;
use library::owned_transaction::RequestOwner;
use values::id::{GrantId, KeyId, SessionId, UserId};
use values::kind::{KeyKind, MeteredSurface};
use values::plan::Plan;
use values::scope::{Scope, Scopes};

use crate::auth::secret::Secret;
use crate::ledger::UsedCredential;

/// The credential that a request presents.
#[derive(Debug)]
pub enum Credential {
    /// A text with the form and the checksum of an API key.
    ApiKey(Secret),
    /// A text with the form of an access token.
    AccessToken(Secret),
    /// Any other bearer token. This server issued none of that form.
    Other,
}

/// The surface that received a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The REST API, v1 and v2.
    Rest,
    /// The MCP server.
    Mcp,
    /// The web app, whose callers are sessions. It serves every plan.
    WebApp,
}

impl Surface {
    /// Returns the surface as rows store it; `None` for the web app, whose requests count in no limit and are not recorded.
    pub fn metered(self) -> Option<MeteredSurface> {
        match self {
            Surface::Rest => Some(MeteredSurface::Rest),
            Surface::Mcp => Some(MeteredSurface::Mcp),
            Surface::WebApp => None,
        }
    }

    /// Returns whether requests need the plan for their scopes, count in limits, and are recorded in the activity view.
    pub fn is_metered(self) -> bool {
        self.metered().is_some()
    }

    /// Returns whether a plan includes the surface.
    pub fn is_in_plan(self, plan: Plan) -> bool {
        match self {
            Surface::Rest => plan.has_rest(),
            Surface::Mcp | Surface::WebApp => true,
        }
    }
}

impl From<MeteredSurface> for Surface {
    fn from(surface: MeteredSurface) -> Self {
        match surface {
            MeteredSurface::Rest => Surface::Rest,
            MeteredSurface::Mcp => Surface::Mcp,
        }
    }
}

/// The credential with which the caller authenticated: an API key, an OAuth grant, or a browser session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// An API key, by which REST and MCP clients authenticate.
    Key(KeyId),
    /// What a user gave an OAuth client.
    Grant(GrantId),
    /// A signed-in browser, which only the web app serves.
    Session(SessionId),
}

impl Principal {
    /// Returns the credential whose uses are recorded; `None` for a session.
    pub fn used_credential(self) -> Option<UsedCredential> {
        match self {
            Principal::Key(key) => Some(UsedCredential::Key(key)),
            Principal::Grant(grant) => Some(UsedCredential::Grant(grant)),
            Principal::Session(_) => None,
        }
    }
}

/// An authenticated caller. Only the modules of [`crate::auth`] that check a credential can create one, so a value proves that check.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The user whose library the request is about.
    pub user: UserId,
    /// The plan of that user.
    pub plan: Plan,
    /// The scopes that were granted, as far as the plan allows them.
    pub scopes: Scopes,
    /// How the caller authenticated; its hourly limit counts by this.
    pub principal: Principal,
    /// The API key, if one was used.
    pub key: Option<CallerKey>,
    /// The surface of the request.
    pub surface: Surface,
    /// The name by which the client identifies itself.
    pub client: Option<Arc<str>>,
    /// Whether the user is an operator who is signed in to the web app. Keys and connected apps never act for an operator.
    pub is_operator: bool,
    /// The claim of the request's Idempotency-Key. The transaction that makes the change marks it as committed
    /// ([`library::owned_transaction::begin_request`]).
    claim: Option<ClaimId>,
}

impl Caller {
    /// Returns the caller whose API key was checked.
    pub(super) fn of_key(
        user: UserId,
        plan: Plan,
        key: CallerKey,
        surface: MeteredSurface,
        client: Option<Arc<str>>,
    ) -> Self {
        Self {
            user,
            plan,
            scopes: key.scopes.within(plan),
            principal: Principal::Key(key.id),
            key: Some(key),
            surface: surface.into(),
            client,
            is_operator: false,
            claim: None,
        }
    }

    /// Returns the OAuth client whose access token was checked. Access tokens are for the MCP server alone.
    pub(super) fn of_grant(
        user: UserId,
        plan: Plan,
        grant: GrantId,
        scopes: &Scopes,
        client: Option<Arc<str>>,
    ) -> Self {
        Self {
            user,
            plan,
            scopes: scopes.within(plan),
            principal: Principal::Grant(grant),
            key: None,
            surface: Surface::Mcp,
            client,
            is_operator: false,
            claim: None,
        }
    }

    /// Returns the signed-in browser whose session was checked. It has every scope.
    pub(super) fn of_session(owner: &user::Model, session: SessionId) -> Self {
        Self {
            user: owner.id,
            plan: owner.plan,
            scopes: Scope::ALL.into(),
            principal: Principal::Session(session),
            key: None,
            surface: Surface::WebApp,
            client: None,
            is_operator: owner.operator_since.is_some(),
            claim: None,
        }
    }

    /// Returns the same caller with the claim of the request's Idempotency-Key.
    pub(crate) fn with_claim(&self, claim: ClaimId) -> Self {
        Self { claim: Some(claim), ..self.clone() }
    }

    /// Returns the user for whom this request changes rows.
    pub fn owner(&self) -> RequestOwner {
        RequestOwner { user: self.user, plan: self.plan, claim: self.claim.clone() }
    }
}

/// The API key of a caller, as far as operations may know it.
#[derive(Clone, Debug)]
pub struct CallerKey {
    /// The id of the key.
    pub id: KeyId,
    /// The name that the user gave the key.
    pub name: Arc<str>,
    /// Whether the key is for REST or MCP.
    pub kind: KeyKind,
    /// The scopes that the user ticked.
    pub scopes: Scopes,
    /// Requests within an hour: the setting of the key, capped at the plan's maximum.
    pub hourly_limit: u32,
    /// Whether no use of the key has been recorded yet.
    pub is_new: bool,
}
