//! `carrel key`: API keys, within the scopes and counts of their owner's plan.

use std::fmt;

use actors::error::Error;
use actors::fields;
use actors::keys::{Wish, changes, rules};
use clap::{Args, Subcommand};
use entity::api_key;
use entity::id::KeyId;
use entity::kind::KeyKind;
use entity::plan::{Limits, Plan};
use entity::scope::{Scope, Scopes};
use entity::time::Timestamp;
use serde::Serialize;

use super::failure::Failure;
use super::output::{CommandOutput, shown, table};
use super::{choices, opening};
use crate::settings::Settings;

/// What is asked of keys.
#[derive(Debug, Subcommand)]
pub enum Asked {
    /// Make a key; its secret is shown this once
    Create(Create),
    /// List the keys of an account
    List(Whose),
    /// Revoke a key; its secret is refused within a second
    Revoke(Which),
}

/// A new key.
#[derive(Debug, Args)]
pub struct Create {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    user: String,
    /// For the REST API or for the MCP server
    #[arg(long, value_parser = choices::key_kind())]
    kind: KeyKind,
    /// What to call it
    #[arg(long, value_parser = name)]
    name: String,
    /// What it may do; may be said more than once. Without it: reading the library
    #[arg(long = "scope", value_name = "SCOPE", value_parser = choices::scope())]
    scopes: Vec<Scope>,
    /// Requests an hour, at least 1; over the plan's maximum, that counts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    hourly_limit: Option<i32>,
    /// From then on it is refused, such as 2030-05-06T07:08:09Z
    #[arg(long, value_name = "TIME", value_parser = choices::time)]
    expires_at: Option<Timestamp>,
}

/// An account.
#[derive(Debug, Args)]
pub struct Whose {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    user: String,
}

/// A key.
#[derive(Debug, Args)]
pub struct Which {
    /// The key, as `carrel key list` shows it
    #[arg(value_name = "ID", value_parser = choices::key_id)]
    id: KeyId,
}

fn name(text: &str) -> Result<String, String> {
    fields::label(text, rules::MAX_NAME_CHARS).map(|()| text.to_owned())
}

/// Does what is asked.
pub async fn run(asked: Asked, settings: &Settings) -> Result<CommandOutput, Failure> {
    match asked {
        Asked::Create(create) => make(create, settings).await,
        Asked::List(Whose { user }) => list(&user, settings).await,
        Asked::Revoke(Which { id }) => revoke(id, settings).await,
    }
}

async fn make(create: Create, settings: &Settings) -> Result<CommandOutput, Failure> {
    let Create { user, kind, name, scopes, hourly_limit, expires_at } = create;
    let desk = opening::desk(settings).await?;
    let owner = opening::account(&desk, &user).await?;
    let now = desk.clock.now();
    if expires_at.is_some_and(|end| end <= now) {
        return Err(Error::invalid("--expires-at", "must lie in the future").into());
    }
    let scopes = (!scopes.is_empty()).then(|| Scopes::from_iter(scopes));
    let wish = Wish { name, kind, scopes, hourly_limit, expires_at };
    let limits = desk.plans.limits(owner.plan);
    let (row, secret) = changes::create(&desk.accounts_db, owner.id, owner.plan, limits, wish, now).await?;
    CommandOutput::of(&Made { secret: secret.expose(), key: Key::of(row, owner.plan, limits) })
}

async fn list(email: &str, settings: &Settings) -> Result<CommandOutput, Failure> {
    let desk = opening::desk(settings).await?;
    let owner = opening::account(&desk, email).await?;
    let limits = desk.plans.limits(owner.plan);
    let rows = changes::list(&desk.accounts_db, owner.id).await?;
    CommandOutput::of(&Listed {
        keys: rows.into_iter().map(|row| Key::of(row, owner.plan, limits)).collect(),
    })
}

async fn revoke(id: KeyId, settings: &Settings) -> Result<CommandOutput, Failure> {
    let desk = opening::desk(settings).await?;
    let gone = async {
        let owner = changes::owner_of(&desk.accounts_db, id).await?;
        changes::revoke(&desk.accounts_db, owner, id).await
    };
    match gone.await {
        Ok(()) => CommandOutput::of(&Revoked { id, revoked: true }),
        Err(Error::NotFound) => Err(Failure::NoKey),
        Err(other) => Err(other.into()),
    }
}

/// A key without its secret: the same fields as in the app (contract.md, section 9).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Key {
    id: KeyId,
    name: String,
    kind: KeyKind,
    display: String,
    effective_scopes: Scopes,
    scopes: Scopes,
    hourly_limit: u32,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    last_client: Option<String>,
}

impl Key {
    fn of(row: api_key::Model, plan: Plan, limits: &Limits) -> Self {
        Self {
            id: row.id,
            name: row.name,
            kind: row.kind,
            display: row.display,
            effective_scopes: row.scopes.within(plan),
            scopes: row.scopes,
            hourly_limit: rules::hourly_limit(row.hourly_limit, limits),
            created_at: row.created_at,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            last_client: row.last_client,
        }
    }
}

#[derive(Serialize)]
struct Made<'a> {
    #[serde(flatten)]
    key: Key,
    secret: &'a str,
}

impl fmt::Display for Made<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key { id, name, kind, scopes, hourly_limit, .. } = &self.key;
        writeln!(f, "{}\n", self.secret)?;
        writeln!(f, "This is the secret of the {kind} key `{}`, shown this once.", shown(name))?;
        write!(f, "id {id}, scopes {scopes}, {hourly_limit} requests an hour")
    }
}

#[derive(Serialize)]
struct Listed {
    keys: Vec<Key>,
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.keys.is_empty() {
            return f.write_str("the account has no keys; `carrel key create` makes one");
        }
        let row = |key: &Key| {
            let used = key.last_used_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
            let (kind, scopes) = (key.kind.to_string(), key.effective_scopes.to_string());
            [key.id.to_string(), kind, key.display.clone(), used, scopes, shown(&key.name)]
        };
        let rows: Vec<_> = self.keys.iter().map(row).collect();
        f.write_str(&table(["ID", "KIND", "KEY", "LAST USED", "SCOPES", "NAME"], &rows))
    }
}

#[derive(Serialize)]
struct Revoked {
    id: KeyId,
    revoked: bool,
}

impl fmt::Display for Revoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "revoked the key {}", self.id)
    }
}
