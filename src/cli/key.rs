//! `carrel key`: API keys, within the scopes and counts of their owner's plan.

use std::fmt;

use actors::auth::keys::{NewKey, changes, rules};
use actors::operations::keys::KeyView;
use clap::{Args, Subcommand};
use errors::Error;
use library::context::CoreContext;
use serde::Serialize;
use values::id::KeyId;
use values::kind::KeyKind;
use values::scope::{Scope, Scopes};
use values::time::Timestamp;

use super::failure::Failure;
use super::opening::OwnerArgs;
use super::output::{CommandOutput, shown, table};
use super::{choices, opening};
use crate::settings::Settings;

/// A subcommand of `carrel key`.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create a key, and show its secret, which cannot be shown again
    Create(CreateKeyArgs),
    /// List the keys of an account
    List(OwnerArgs),
    /// Revoke a key; it is refused within a second
    Revoke(KeyIdArgs),
}

/// A new key.
#[derive(Debug, Args)]
pub struct CreateKeyArgs {
    #[command(flatten)]
    owner: OwnerArgs,
    /// Interface that the key is for: the REST API or the MCP server
    #[arg(long, value_parser = choices::key_kind())]
    kind: KeyKind,
    /// Name of the key
    #[arg(long, value_parser = name)]
    name: String,
    /// Scope of the key; may be repeated (default: read the library)
    #[arg(long = "scope", value_name = "SCOPE", value_parser = choices::scope())]
    scopes: Vec<Scope>,
    /// Requests per hour; capped at the plan's maximum
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    hourly_limit: Option<i32>,
    /// Expiry time, e.g. 2030-05-06T07:08:09Z
    #[arg(long, value_name = "TIME", value_parser = choices::time)]
    expires_at: Option<Timestamp>,
}

/// A key.
#[derive(Debug, Args)]
pub struct KeyIdArgs {
    /// Id of the key, as `carrel key list` shows it
    #[arg(value_name = "ID", value_parser = choices::key_id)]
    id: KeyId,
}

/// Checks the name of a key.
fn name(text: &str) -> Result<String, String> {
    validation::label(text, rules::MAX_NAME_CHARS).map(|()| text.to_owned())
}

pub async fn run(command: KeyCommand, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    match command {
        KeyCommand::Create(args) => create(&core, args).await,
        KeyCommand::List(owner) => list(&core, &owner).await,
        KeyCommand::Revoke(KeyIdArgs { id }) => revoke(&core, id).await,
    }
}

async fn create(core: &CoreContext, args: CreateKeyArgs) -> Result<CommandOutput, Failure> {
    let CreateKeyArgs { owner, kind, name, scopes, hourly_limit, expires_at } = args;
    let owner = owner.find(core).await?;
    let now = core.clock.now();
    if expires_at.is_some_and(|end| end <= now) {
        return Err(Error::invalid("--expires-at", "must be in the future").into());
    }
    let scopes = (!scopes.is_empty()).then(|| Scopes::from_iter(scopes));
    let new = NewKey { name, kind, scopes, hourly_limit, expires_at };
    let limits = core.plans.limits(owner.plan);
    let (row, secret) = changes::create(&core.accounts_db, owner.id, owner.plan, limits, new, now).await?;
    CommandOutput::of(&CreatedKey {
        secret: secret.expose(),
        key: KeyView::from_row(row, owner.plan, limits),
    })
}

async fn list(core: &CoreContext, owner: &OwnerArgs) -> Result<CommandOutput, Failure> {
    let owner = owner.find(core).await?;
    let limits = core.plans.limits(owner.plan);
    let rows = changes::list(&core.accounts_db, owner.id).await?;
    let keys = rows.into_iter().map(|row| KeyView::from_row(row, owner.plan, limits)).collect();
    CommandOutput::of(&KeyList { keys })
}

async fn revoke(core: &CoreContext, id: KeyId) -> Result<CommandOutput, Failure> {
    let revoked = async {
        // The command has only the id, and every change starts from its owner.
        let owner = changes::owner_of(&core.accounts_db, id).await?;
        changes::revoke(&core.accounts_db, owner, id).await
    };
    match revoked.await {
        Ok(_) => CommandOutput::of(&RevokedKey { id, revoked: true }),
        Err(Error::NotFound(_)) => Err(Failure::NoKey),
        Err(other) => Err(other.into()),
    }
}

#[derive(Serialize)]
struct CreatedKey<'a> {
    #[serde(flatten)]
    key: KeyView,
    secret: &'a str,
}

impl fmt::Display for CreatedKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyView { id, name, kind, scopes, hourly_limit, expires_at, .. } = &self.key;
        writeln!(f, "{}\n", self.secret)?;
        writeln!(f, "This is the secret of the {kind} key `{}`. It cannot be shown again.", shown(name))?;
        write!(f, "id {id}, scopes {scopes}, {hourly_limit} requests per hour, ")?;
        match expires_at {
            Some(end) => write!(f, "expires {end}"),
            None => f.write_str("does not expire"),
        }
    }
}

#[derive(Serialize)]
struct KeyList {
    keys: Vec<KeyView>,
}

impl fmt::Display for KeyList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.keys.is_empty() {
            return f.write_str("the account has no keys; `carrel key create` creates one");
        }
        let row = |key: &KeyView| {
            let or_never = |at: Option<Timestamp>| at.map_or_else(|| "never".to_owned(), |at| at.to_string());
            let (used, expires) = (or_never(key.last_used_at), or_never(key.expires_at));
            let (kind, scopes) = (key.kind.to_string(), key.effective_scopes.to_string());
            let (id, per_hour) = (key.id.to_string(), key.hourly_limit.to_string());
            [id, kind, key.display.clone(), used, expires, per_hour, scopes, shown(&key.name)]
        };
        let rows: Vec<_> = self.keys.iter().map(row).collect();
        let headings = ["ID", "KIND", "KEY", "LAST USED", "EXPIRES", "PER HOUR", "SCOPES", "NAME"];
        f.write_str(&table(headings, &rows))
    }
}

#[derive(Serialize)]
struct RevokedKey {
    id: KeyId,
    revoked: bool,
}

impl fmt::Display for RevokedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "revoked the key {}", self.id)
    }
}
