//! Lists, creates, changes, regenerates and revokes API keys in the web app (contract.md, section 9).
//!
//! They need no scope, because only the session of the web app reaches them.

use entity::api_key;
use schemars::JsonSchema;
use serde::Serialize;
use values::id::KeyId;
use values::kind::KeyKind;
use values::plan::{Limits, Plan};
use values::scope::{Scope, Scopes};
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::auth::keys::{KeyChanges, NewKey, changes, rules};
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use validation::{Choice, Integer, Label, List, NoFields, Time, request};

/// The field `name`: how the user recognises the key. Names need not be unique.
pub type KeyName = Label<{ rules::MAX_NAME_CHARS }>;
/// The field `scopes`: 1 to 50 names.
pub type ScopeNames = List<Choice<Scope>, 1, 50>;
/// The field `hourlyLimit`: requests per hour. A number over the plan's maximum is accepted and capped (contract.md, section 11).
pub type HourlyLimit = Integer<1, { i32::MAX as i64 }>;

/// A key as its owner sees it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    /// Id of the key; a new secret does not change it.
    pub id: KeyId,
    /// Name by which the user recognises the key.
    pub name: String,
    /// Whether the key is for the REST API or for the MCP server.
    pub kind: KeyKind,
    /// The beginning and the end of the secret: `pk_`, four characters, `...` and four characters.
    pub display: String,
    /// Scopes that the user selected.
    pub scopes: Scopes,
    /// Those of `scopes` that the plan includes; the others are ignored.
    pub effective_scopes: Scopes,
    /// Requests per hour: the number that the user set, or the plan's maximum if that is lower or none is set.
    pub hourly_limit: u32,
    /// When the key was created; a new secret does not change it.
    pub created_at: Timestamp,
    /// Time from which the key is refused; null if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// When the key was first used; null before that.
    pub first_used_at: Option<Timestamp>,
    /// When the key was last used; null before its first use.
    pub last_used_at: Option<Timestamp>,
    /// Name of the client that used the key last; null before its first use.
    pub last_client: Option<String>,
}

impl KeyView {
    /// Returns the view of a key whose owner has this plan with these limits.
    pub fn from_row(row: api_key::Model, plan: Plan, limits: &Limits) -> Self {
        Self {
            id: row.id,
            name: row.name,
            kind: row.kind,
            display: row.display,
            // After a downgrade scopes beyond the plan are kept and ignored (contract.md, section 3).
            effective_scopes: row.scopes.within(plan),
            scopes: row.scopes,
            hourly_limit: rules::hourly_limit(row.hourly_limit, limits),
            created_at: row.created_at,
            expires_at: row.expires_at,
            first_used_at: row.first_used_at,
            last_used_at: row.last_used_at,
            last_client: row.last_client,
        }
    }
}

fn view(core: &CoreContext, caller: &Caller, row: api_key::Model) -> KeyView {
    KeyView::from_row(row, caller.plan, core.plans.limits(caller.plan))
}

fn scopes_of(names: ScopeNames) -> Scopes {
    names.map(Choice::into_inner).into_iter().collect()
}

// Not part of `from_request`, which has no clock.
fn require_future(core: &CoreContext, expires_at: Option<Timestamp>) -> Result<(), Error> {
    match expires_at {
        Some(end) if end <= core.clock.now() => Err(Error::invalid("expiresAt", "must be in the future")),
        Some(_) | None => Ok(()),
    }
}

/// Lists the user's keys, without those of connection tests.
#[derive(Debug)]
pub struct ListKeys;

impl FromRequest for ListKeys {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// All keys of the user, oldest first. Revoked keys are deleted, so they are not listed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListKeysResponse {
    /// The keys.
    pub keys: Vec<KeyView>,
}

impl Operation for ListKeys {
    type Reply = ListKeysResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListKeysResponse, Error> {
        // On PostgreSQL these connections are separate, so keys are listed even while all others wait for locks of content.
        let rows = changes::list(&ctx.core.accounts_db, caller.user).await?;
        Ok(ListKeysResponse { keys: rows.into_iter().map(|row| view(&ctx.core, caller, row)).collect() })
    }
}

/// Shows a key of the user.
#[derive(Debug)]
pub struct ShowKey(KeyId);

impl FromRequest for ShowKey {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowKey {
    type Reply = KeyResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<KeyResponse, Error> {
        let row = changes::find(&ctx.core.accounts_db, caller.user, self.0).await?;
        Ok(KeyResponse { key: view(&ctx.core, caller, row) })
    }
}

/// Creates a key. Its scopes and the number of keys must be within the plan.
#[derive(Debug)]
pub struct CreateKey(NewKey);

request! {
    /// A new API key of the user.
    pub struct CreateKeyRequest {
        /// Name by which you recognise the key; it need not be unique.
        pub name: KeyName,
        /// What the key is for: the REST API (`rest`) or the MCP server (`mcp`). It cannot be changed later.
        pub kind: Choice<KeyKind>,
        /// Scopes of the key; all must be in the plan. Default: `read:library`. A key of kind `mcp` also gets the scope `mcp`.
        pub scopes?: ScopeNames,
        /// Maximum number of requests per hour, capped at the plan's maximum, which is also the default.
        pub hourly_limit?: HourlyLimit,
        /// Time from which the key is refused; must be in the future. Default: never.
        pub expires_at?: Time,
    }
}

impl FromRequest for CreateKey {
    type Request = CreateKeyRequest;

    fn from_request(_: &Target, request: CreateKeyRequest) -> Result<Self, Error> {
        Ok(Self(NewKey {
            name: request.name.into_inner(),
            kind: request.kind.into_inner(),
            scopes: request.scopes.map(scopes_of),
            hourly_limit: request.hourly_limit.and_then(Integer::convert),
            expires_at: request.expires_at.map(Time::into_inner),
        }))
    }
}

/// A key with its secret, which is shown only once.
// No `Debug`, which would print the secret.
#[derive(Serialize, JsonSchema)]
pub struct KeySecretResponse {
    /// The key.
    pub key: KeyView,
    /// The secret, to send as `Authorization: Bearer`. Only its hash is stored, so it cannot be shown again.
    pub secret: String,
}

impl Operation for CreateKey {
    type Reply = KeySecretResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<KeySecretResponse, Error> {
        require_future(&ctx.core, self.0.expires_at)?;
        let limits = ctx.core.plans.limits(caller.plan);
        let (row, secret) = ctx.auth.keys.create(caller.user, caller.plan, limits, self.0).await?;
        Ok(KeySecretResponse { key: view(&ctx.core, caller, row), secret: secret.expose().to_owned() })
    }
}

/// Changes the given fields of a key; its secret stays valid.
#[derive(Debug)]
pub struct ChangeKey {
    id: KeyId,
    changes: KeyChanges,
}

request! {
    /// The changes of a key.
    pub struct ChangeKeyRequest {
        /// The new name of the key.
        pub name?: KeyName,
        /// New scopes of the key; they replace the former ones. Those beyond the plan may stay, but none may be added. A key of kind `mcp`
        /// keeps the scope `mcp`.
        pub scopes?: ScopeNames,
        /// Maximum number of requests per hour; null for the plan's maximum.
        pub hourly_limit~: HourlyLimit,
        /// Time from which the key is refused; must be in the future, or null for never.
        pub expires_at~: Time,
    }
}

impl FromRequest for ChangeKey {
    type Request = ChangeKeyRequest;

    fn from_request(target: &Target, request: ChangeKeyRequest) -> Result<Self, Error> {
        let changes = KeyChanges {
            name: request.name.map(Label::into_inner),
            scopes: request.scopes.map(scopes_of),
            hourly_limit: request.hourly_limit.and_then(Integer::convert).into_change(),
            expires_at: request.expires_at.map(Time::into_inner).into_change(),
        };
        Ok(Self { id: target.id(0)?, changes })
    }
}

/// A key, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyResponse {
    /// The key.
    pub key: KeyView,
}

impl Operation for ChangeKey {
    type Reply = KeyResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<KeyResponse, Error> {
        require_future(&ctx.core, self.changes.expires_at.flatten())?;
        let row = ctx.auth.keys.change(caller.user, caller.plan, self.id, self.changes).await?;
        Ok(KeyResponse { key: view(&ctx.core, caller, row) })
    }
}

/// Gives a key a new secret. The old secret is refused as soon as this is answered; id, scopes and history stay.
#[derive(Debug)]
pub struct RegenerateKey(KeyId);

impl FromRequest for RegenerateKey {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for RegenerateKey {
    type Reply = KeySecretResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<KeySecretResponse, Error> {
        let (row, secret) = ctx.auth.keys.regenerate(caller.user, self.0).await?;
        Ok(KeySecretResponse { key: view(&ctx.core, caller, row), secret: secret.expose().to_owned() })
    }
}

/// Revokes and deletes a key. Its secret is refused as soon as this is answered; its activity stays listed.
#[derive(Debug)]
pub struct RevokeKey(KeyId);

impl FromRequest for RevokeKey {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The key is revoked; requests with it get 401.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RevokeKeyResponse {}

impl Operation for RevokeKey {
    type Reply = RevokeKeyResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<RevokeKeyResponse, Error> {
        ctx.auth.keys.revoke(caller.user, self.0).await?;
        Ok(RevokeKeyResponse {})
    }
}
