//! `carrel user`: accounts.

use std::fmt;

use actors::accounts::{self, NewAccount};
use actors::desk::Desk;
use clap::{Args, Subcommand};
use entity::id::UserId;
use entity::plan::Plan;
use entity::time::Timestamp;
use entity::user;
use serde::Serialize;

use super::failure::Failure;
use super::output::{CommandOutput, shown, table};
use super::{choices, opening, password};
use crate::settings::Settings;

/// What is asked of accounts.
#[derive(Debug, Subcommand)]
pub enum Asked {
    /// Make an account
    Add(Add),
    /// List the accounts
    List,
    /// Move an account to another plan
    SetPlan(SetPlan),
    /// Set the password of an account; its sessions end
    SetPassword(SetPassword),
    /// Shut an account: its keys, sessions and tokens are refused
    Disable(Whose),
    /// Open an account again
    Enable(Whose),
    /// Remove an account and everything of it, for good
    Delete(Whose),
}

/// A new account.
#[derive(Debug, Args)]
pub struct Add {
    /// Address to sign in with
    #[arg(long, value_name = "ADDRESS")]
    email: String,
    /// What the account may do
    #[arg(long, value_parser = choices::plan())]
    plan: Plan,
    /// What the person is called
    #[arg(long)]
    name: Option<String>,
    /// Read the password from the first line of standard input
    #[arg(long)]
    password_stdin: bool,
}

/// A move to another plan.
#[derive(Debug, Args)]
pub struct SetPlan {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    email: String,
    /// What the account may do from now on
    #[arg(long, value_parser = choices::plan())]
    plan: Plan,
}

/// A new password.
#[derive(Debug, Args)]
pub struct SetPassword {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    email: String,
    /// Read the password from the first line of standard input
    #[arg(long)]
    password_stdin: bool,
}

/// An account.
#[derive(Debug, Args)]
pub struct Whose {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    email: String,
}

/// Does what is asked.
pub async fn run(asked: Asked, settings: &Settings) -> Result<CommandOutput, Failure> {
    match asked {
        Asked::Add(add) => make(add, settings).await,
        Asked::List => list(&opening::desk(settings).await?).await,
        Asked::SetPlan(SetPlan { email, plan }) => {
            let desk = opening::desk(settings).await?;
            let row = opening::account(&desk, &email).await?;
            accounts::set_plan(&desk, row.id, plan).await?;
            changed(&desk, &email).await
        }
        Asked::SetPassword(new) => set_password(new, settings).await,
        Asked::Disable(Whose { email }) => set_disabled(&email, true, settings).await,
        Asked::Enable(Whose { email }) => set_disabled(&email, false, settings).await,
        Asked::Delete(Whose { email }) => delete(&email, settings).await,
    }
}

async fn make(add: Add, settings: &Settings) -> Result<CommandOutput, Failure> {
    let Add { email, plan, name, password_stdin } = add;
    let desk = opening::desk_or_new(settings).await?;
    let password = password::read(password_stdin)?;
    let row = accounts::create(&desk, NewAccount { email, name, password, plan }).await?;
    CommandOutput::of(&Made { user_id: row.id, email: row.email, plan: row.plan })
}

async fn list(desk: &Desk) -> Result<CommandOutput, Failure> {
    let users = accounts::all(desk).await?.into_iter().map(Account::from).collect();
    CommandOutput::of(&Listed { users })
}

async fn set_password(new: SetPassword, settings: &Settings) -> Result<CommandOutput, Failure> {
    let desk = opening::desk(settings).await?;
    let row = opening::account(&desk, &new.email).await?;
    let password = password::read(new.password_stdin)?;
    accounts::set_password(&desk, row.id, password, None).await?;
    changed(&desk, &new.email).await
}

async fn set_disabled(email: &str, disabled: bool, settings: &Settings) -> Result<CommandOutput, Failure> {
    let desk = opening::desk(settings).await?;
    let row = opening::account(&desk, email).await?;
    accounts::set_disabled(&desk, row.id, disabled).await?;
    changed(&desk, email).await
}

async fn changed(desk: &Desk, email: &str) -> Result<CommandOutput, Failure> {
    CommandOutput::of(&Account::from(opening::account(desk, email).await?))
}

async fn delete(email: &str, settings: &Settings) -> Result<CommandOutput, Failure> {
    let desk = opening::desk(settings).await?;
    let row = opening::account(&desk, email).await?;
    accounts::delete(&desk, row.id).await?;
    CommandOutput::of(&Deleted { user_id: row.id, email: row.email, deleted: true })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    user_id: UserId,
    email: String,
    plan: Plan,
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "made the account {} (plan {}, id {})", shown(&self.email), self.plan, self.user_id)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Account {
    user_id: UserId,
    email: String,
    name: Option<String>,
    plan: Plan,
    disabled: bool,
    created_at: Timestamp,
}

impl From<user::Model> for Account {
    fn from(row: user::Model) -> Self {
        Self {
            user_id: row.id,
            email: row.email,
            name: row.name,
            plan: row.plan,
            disabled: row.disabled_at.is_some(),
            created_at: row.created_at,
        }
    }
}

impl Account {
    fn state(&self) -> &'static str {
        if self.disabled { "disabled" } else { "enabled" }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: plan {}, {}", shown(&self.email), self.plan, self.state())
    }
}

#[derive(Serialize)]
struct Listed {
    users: Vec<Account>,
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.users.is_empty() {
            return f.write_str("there are no accounts; `carrel user add` makes one");
        }
        let row = |account: &Account| {
            let name = account.name.as_deref().map(shown).unwrap_or_default();
            let (plan, state) = (account.plan.to_string(), account.state().to_owned());
            [shown(&account.email), plan, state, account.user_id.to_string(), name]
        };
        let rows: Vec<_> = self.users.iter().map(row).collect();
        f.write_str(&table(["EMAIL", "PLAN", "STATE", "ID", "NAME"], &rows))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Deleted {
    user_id: UserId,
    email: String,
    deleted: bool,
}

impl fmt::Display for Deleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "removed the account {} and everything of it", shown(&self.email))
    }
}
