//! What a person does with their keys, in the web app (contract.md, section 9).

use entity::api_key;
use entity::id::KeyId;
use entity::kind::KeyKind;
use entity::scope::{Scope, Scopes};
use entity::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::target::Target;
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::{Error, Fault, Invalid};
use validation::{Field, Kind, Values};
use crate::auth::keys::{Changes, Wish, changes, rules};
use crate::pipeline::Operation;

const NAME: Kind = Kind::Label { max: rules::MAX_NAME_CHARS };
const SCOPES: Kind = Kind::List { of: &Kind::Words { min: 1, max: 100 }, min: 1, max: 50 };
const HOURLY: Kind = Kind::Integer { min: 1, max: i32::MAX as i64 };

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

/// The scopes by their names, or the fault.
pub fn read_scopes(names: Option<Vec<String>>) -> Result<Option<Scopes>, Error> {
    let Some(names) = names else { return Ok(None) };
    let mut faults = Vec::new();
    let mut scopes = Vec::new();
    for (place, name) in names.iter().enumerate() {
        match name.parse::<Scope>() {
            Ok(scope) => scopes.push(scope),
            Err(_) => faults.push(Fault {
                field: if faults.is_empty() { "scopes".to_owned() } else { format!("scopes[{place}]") },
                reason: format!(
                    "must be one of {}",
                    Scope::ALL.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(", ")
                ),
            }),
        }
    }
    if faults.is_empty() { Ok(Some(scopes.into_iter().collect())) } else { Err(Invalid { faults }.into()) }
}

fn in_the_future(ctx: &OperationContext, end: Option<Timestamp>) -> Result<(), Error> {
    match end {
        Some(end) if end <= ctx.core.clock.now() => Err(Error::invalid("expiresAt", "must be in the future")),
        Some(_) | None => Ok(()),
    }
}

/// The keys of the person.
#[derive(Debug)]
pub struct ListKeys;

impl ListKeys {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads nothing.
    pub fn read(_: &Target, _: Values) -> Result<Self, Error> {
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

/// A new key.
#[derive(Debug)]
pub struct CreateKey(Wish);

impl CreateKey {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("name", NAME, "What the person calls it."),
        Field::required("kind", Kind::Choice(KeyKind::NAMES), "For REST or for MCP."),
        Field::optional("scopes", SCOPES, "What it may do; reading the library when left out."),
        Field::optional("hourlyLimit", HOURLY, "Requests an hour; the plan's maximum when left out."),
        Field::optional("expiresAt", Kind::Time, "From then on it is refused."),
    ];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        let kind = if values.name("kind") == Some("mcp") { KeyKind::Mcp } else { KeyKind::Rest };
        Ok(Self(Wish {
            name: values.text("name").unwrap_or_default(),
            kind,
            scopes: read_scopes(values.texts("scopes"))?,
            hourly_limit: values.integer("hourlyLimit"),
            expires_at: values.time("expiresAt"),
        }))
    }
}

/// A key with its secret: the only time that it is shown.
#[derive(Serialize, JsonSchema)]
pub struct KeySecretResponse {
    key: KeyView,
    secret: String,
}

impl Operation for CreateKey {
    type Reply = KeySecretResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<KeySecretResponse, Error> {
        in_the_future(ctx, self.0.expires_at)?;
        let limits = ctx.core.plans.limits(caller.plan);
        let (row, secret) = ctx.keys.create(caller.user, caller.plan, limits, self.0).await?;
        Ok(KeySecretResponse { key: view(ctx, caller, row), secret: secret.expose().to_owned() })
    }
}

/// What is to be different of a key.
#[derive(Debug)]
pub struct ChangeKey {
    id: KeyId,
    changes: Changes,
}

impl ChangeKey {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::optional("name", NAME, "The new name."),
        Field::optional("scopes", SCOPES, "All scopes from now on."),
        Field::optional("hourlyLimit", HOURLY, "Requests an hour; null for the plan's maximum."),
        Field::optional("expiresAt", Kind::Time, "From then on it is refused; null for never."),
    ];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        let changes = Changes {
            name: values.text("name"),
            scopes: read_scopes(values.texts("scopes"))?,
            hourly_limit: values.has("hourlyLimit").then(|| values.integer("hourlyLimit")),
            expires_at: values.has("expiresAt").then(|| values.time("expiresAt")),
        };
        Ok(Self { id: target.id(0)?, changes })
    }
}

/// One key under its name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyResponse {
    key: KeyView,
}

impl Operation for ChangeKey {
    type Reply = KeyResponse;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<KeyResponse, Error> {
        in_the_future(ctx, self.changes.expires_at.flatten())?;
        let row = ctx.keys.change(caller.user, caller.plan, self.id, self.changes).await?;
        Ok(KeyResponse { key: view(ctx, caller, row) })
    }
}

/// Which key gets a new secret.
#[derive(Debug)]
pub struct RegenerateKey(KeyId);

impl RegenerateKey {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
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

/// Which key is removed.
#[derive(Debug)]
pub struct RevokeKey(KeyId);

impl RevokeKey {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// Nothing more to say.
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
