//! Who asks: what was presented, and what it proved.

use entity::id::{GrantId, KeyId, SessionId, UserId};
use entity::kind::{KeyKind, Surface};
use entity::plan::Plan;
use entity::scope::Scopes;

use library::idempotency_claim::ClaimId;
use crate::auth::secret::Secret;

/// What a request presented.
#[derive(Debug)]
pub enum Credential {
    /// A text that has the form and the checksum of an API key.
    ApiKey(Secret),
    /// A text that has the form of an access token.
    AccessToken(Secret),
    /// Anything else that was sent as a bearer: nothing that is known here.
    Other,
}

/// By what the caller came in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Principal {
    /// An API key.
    Key(KeyId),
    /// An application connected by OAuth.
    App(GrantId),
    /// A signed-in browser.
    Session(SessionId),
}

/// Someone whose checks have run. It is made by `perform` and by the session's door alone, so having one is the proof.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Whose library this is about.
    pub user: UserId,
    /// The plan of that user.
    pub plan: Plan,
    /// What the caller may do, within the plan.
    pub scopes: Scopes,
    /// By what it came in.
    pub via: Principal,
    /// The key, where one was used.
    pub key: Option<CallerKey>,
    /// The surface it came by; the web app counts nowhere.
    pub surface: Option<Surface>,
    /// What it calls itself.
    pub client: Option<String>,
    /// The claim of the request's Idempotency-Key. The transaction that makes the change marks it as committed
    /// ([`library::owned_transaction::begin_request`]).
    pub(crate) claim: Option<ClaimId>,
    pub(crate) _proof: Proof,
}

impl Caller {
    /// Returns the same caller with the claim of the request's Idempotency-Key.
    pub(crate) fn with_claim(&self, claim: ClaimId) -> Self {
        Self { claim: Some(claim), ..self.clone() }
    }
}

/// What operations may know of the key that was used.
#[derive(Clone, Debug)]
pub struct CallerKey {
    /// The key.
    pub id: KeyId,
    /// What the person calls it.
    pub name: String,
    /// For REST or MCP.
    pub kind: KeyKind,
    /// The ticked scopes.
    pub scopes: Scopes,
    /// Requests an hour, as they count now.
    pub hourly_limit: u32,
    /// No use of it was written down yet.
    pub is_new: bool,
}

/// Only this crate can make one.
#[derive(Clone, Debug)]
pub(crate) struct Proof;
