//! Lists, creates, changes, regenerates and revokes API keys in the web app (contract.md, section 9).

use entity::api_key;
use entity::id::KeyId;
use entity::kind::KeyKind;
use entity::scope::{Scope, Scopes};
use entity::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::auth::caller::Caller;
use crate::auth::keys::{KeyChanges, NewKey, changes, rules};
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, Fault, Invalid};
use validation::{Choice, Integer, Label, List, NoFields, Time, Words, request};

/// Name of a key.
pub type KeyName = Label<{ rules::MAX_NAME_CHARS }>;
/// Names of scopes.
pub type ScopeNames = List<Words<1, 100>, 1, 50>;
/// Requests per hour.
pub type HourlyLimit = Integer<1, { i32::MAX as i64 }>;

/// A key as its owner sees it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    id: KeyId,
    name: String,
    kind: KeyKind,
    display: String,
    scopes: Scopes,
    effective_scopes: Scopes,
    hourly_limit: u32,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    last_client: Option<String>,
}

fn view(ctx: &OperationContext, caller: &Caller, row: api_key::Model) -> KeyView {
    KeyView {
        id: row.id,
        name: row.name,
        kind: row.kind,
        display: row.display,
        effective_scopes: row.scopes.within(caller.plan),
        scopes: row.scopes,
        hourly_limit: rules::hourly_limit(row.hourly_limit, ctx.core.plans.limits(caller.plan)),
        created_at: row.created_at,
        expires_at: row.expires_at,
        last_used_at: row.last_used_at,
        last_client: row.last_client,
    }
}

/// Parses the names of scopes; `None` without a list.
///
/// # Errors
/// [`Error::Invalid`] that names each unknown scope.
fn read_scopes(names: Option<ScopeNames>) -> Result<Option<Scopes>, Error> {
    let Some(names) = names else { return Ok(None) };
    let names = names.map(Words::into_inner);
    let mut faults = Vec::new();
    let mut scopes = Vec::new();
    for (index, name) in names.iter().enumerate() {
        match name.parse::<Scope>() {
            Ok(scope) => scopes.push(scope),
            Err(_) => faults.push(Fault {
                field: if faults.is_empty() { "scopes".to_owned() } else { format!("scopes[{index}]") },
                reason: format!(
                    "must be one of {}",
                    Scope::ALL.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(", ")
                ),
            }),
        }
    }
    if faults.is_empty() { Ok(Some(scopes.into_iter().collect())) } else { Err(Invalid { faults }.into()) }
}

fn require_future(ctx: &OperationContext, expires_at: Option<Timestamp>) -> Result<(), Error> {
    match expires_at {
        Some(end) if end <= ctx.core.clock.now() => Err(Error::invalid("expiresAt", "must be in the future")),
        Some(_) | None => Ok(()),
    }
}

/// Lists the user's keys.
#[derive(Debug)]
pub struct ListKeys;

impl FromRequest for ListKeys {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// All keys, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListKeysResponse {
    keys: Vec<KeyView>,
}

impl Operation for ListKeys {
    type Reply = ListKeysResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListKeysResponse, Error> {
        let rows = changes::list(&ctx.core.accounts_db, caller.user).await?;
        Ok(ListKeysResponse { keys: rows.into_iter().map(|row| view(ctx, caller, row)).collect() })
    }
}

/// Creates a key.
#[derive(Debug)]
pub struct CreateKey(NewKey);

request! {
    /// A key to create.
    pub struct CreateKeyRequest {
        /// Name of the key.
        pub name: KeyName,
        /// Surface of the key: REST or MCP.
        pub kind: Choice<KeyKind>,
        /// Scopes of the key. Default: reading the library.
        pub scopes?: ScopeNames,
        /// Maximum number of requests per hour. Default: the plan's maximum.
        pub hourly_limit?: HourlyLimit,
        /// Time from which the key is refused.
        pub expires_at?: Time,
    }
}

impl FromRequest for CreateKey {
    type Request = CreateKeyRequest;

    fn from_request(_: &Target, request: CreateKeyRequest) -> Result<Self, Error> {
        Ok(Self(NewKey {
            name: request.name.into_inner(),
            kind: request.kind.into_inner(),
            scopes: read_scopes(request.scopes)?,
            hourly_limit: request.hourly_limit.and_then(Integer::convert),
            expires_at: request.expires_at.map(Time::into_inner),
        }))
    }
}

/// A key with its secret, which is shown only once.
#[derive(Serialize, JsonSchema)]
pub struct KeySecretResponse {
    key: KeyView,
    secret: String,
}

impl Operation for CreateKey {
    type Reply = KeySecretResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<KeySecretResponse, Error> {
        require_future(ctx, self.0.expires_at)?;
        let limits = ctx.core.plans.limits(caller.plan);
        let (row, secret) = ctx.keys.create(caller.user, caller.plan, limits, self.0).await?;
        Ok(KeySecretResponse { key: view(ctx, caller, row), secret: secret.expose().to_owned() })
    }
}

/// Changes a key.
#[derive(Debug)]
pub struct ChangeKey {
    id: KeyId,
    changes: KeyChanges,
}

request! {
    /// The changes of a key.
    pub struct ChangeKeyRequest {
        /// The new name.
        pub name?: KeyName,
        /// New scopes of the key; they replace the former ones.
        pub scopes?: ScopeNames,
        /// Maximum number of requests per hour; null for the plan's maximum.
        pub hourly_limit~: HourlyLimit,
        /// Time from which the key is refused; null for never.
        pub expires_at~: Time,
    }
}

impl FromRequest for ChangeKey {
    type Request = ChangeKeyRequest;

    fn from_request(target: &Target, request: ChangeKeyRequest) -> Result<Self, Error> {
        let changes = KeyChanges {
            name: request.name.map(Label::into_inner),
            scopes: read_scopes(request.scopes)?,
            hourly_limit: request.hourly_limit.and_then(Integer::convert).into_change(),
            expires_at: request.expires_at.map(Time::into_inner).into_change(),
        };
        Ok(Self { id: target.id(0)?, changes })
    }
}

/// A key.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyResponse {
    key: KeyView,
}

impl Operation for ChangeKey {
    type Reply = KeyResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<KeyResponse, Error> {
        require_future(ctx, self.changes.expires_at.flatten())?;
        let row = ctx.keys.change(caller.user, caller.plan, self.id, self.changes).await?;
        Ok(KeyResponse { key: view(ctx, caller, row) })
    }
}

/// Gives a key a new secret.
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
        let (row, secret) = ctx.keys.regenerate(caller.user, self.0).await?;
        Ok(KeySecretResponse { key: view(ctx, caller, row), secret: secret.expose().to_owned() })
    }
}

/// Revokes a key.
#[derive(Debug)]
pub struct RevokeKey(KeyId);

impl FromRequest for RevokeKey {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The key is revoked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RevokeKeyResponse {}

impl Operation for RevokeKey {
    type Reply = RevokeKeyResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<RevokeKeyResponse, Error> {
        ctx.keys.revoke(caller.user, self.0).await?;
        Ok(RevokeKeyResponse {})
    }
}
