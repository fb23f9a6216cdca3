//! `carrel user`: accounts.

use std::fmt;

use actors::auth::accounts::{self, NewAccount};
use clap::{Args, Subcommand};
use entity::user;
use errors::Error;
use library::context::CoreContext;
use serde::Serialize;
use validation::DisplayName;
use values::id::UserId;
use values::plan::Plan;
use values::time::Timestamp;

use super::failure::Failure;
use super::output::{CommandOutput, shown, table};
use super::{choices, confirmation, opening, password};
use crate::settings::Settings;

/// A subcommand of `carrel user`.
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Create an account, and the database if none exists
    Add(AddArgs),
    /// List the accounts
    List,
    /// Change the plan of an account
    SetPlan(SetPlanArgs),
    /// Set the password of an account; this ends its sessions and disconnects its apps
    SetPassword(SetPasswordArgs),
    /// Disable an account; its keys, sessions and tokens are then refused; enabling it again does not reconnect its apps
    Disable(EmailArgs),
    /// Enable a disabled account
    Enable(EmailArgs),
    /// Make an account that of an operator, who sees in the web app how the server is doing and manages its accounts
    SetOperator(SetOperatorArgs),
    /// Delete an account and everything in it, after a confirmation
    Delete(DeleteArgs),
}

/// A new account.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// E-mail address to sign in with
    #[arg(long, value_name = "EMAIL")]
    email: String,
    /// Plan (set of limits) of the account; research has the highest
    #[arg(long, value_parser = choices::plan())]
    plan: Plan,
    /// Name of the user
    #[arg(long, value_parser = user_name)]
    name: Option<String>,
    /// Read the password from the first line of standard input
    #[arg(long)]
    password_stdin: bool,
}

/// A move to another plan.
#[derive(Debug, Args)]
pub struct SetPlanArgs {
    /// E-mail address of the account
    #[arg(long, value_name = "EMAIL")]
    email: String,
    /// New plan of the account
    #[arg(long, value_parser = choices::plan())]
    plan: Plan,
}

/// A new password.
#[derive(Debug, Args)]
pub struct SetPasswordArgs {
    /// E-mail address of the account
    #[arg(long, value_name = "EMAIL")]
    email: String,
    /// Read the password from the first line of standard input
    #[arg(long)]
    password_stdin: bool,
}

/// An account.
#[derive(Debug, Args)]
pub struct EmailArgs {
    /// E-mail address of the account
    #[arg(long, value_name = "EMAIL")]
    email: String,
}

/// An operator, or a former one.
#[derive(Debug, Args)]
pub struct SetOperatorArgs {
    /// E-mail address of the account
    #[arg(long, value_name = "EMAIL")]
    email: String,
    /// Take the role back
    #[arg(long)]
    remove: bool,
}

/// A deletion.
#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// E-mail address of the account
    #[arg(long, value_name = "EMAIL")]
    email: String,
    /// Delete without asking for confirmation
    #[arg(long)]
    yes: bool,
}

pub async fn run(command: UserCommand, settings: &Settings) -> Result<CommandOutput, Failure> {
    match command {
        UserCommand::Add(args) => add(args, settings).await,
        UserCommand::List => list(&opening::core(settings).await?).await,
        UserCommand::SetPlan(SetPlanArgs { email, plan }) => {
            let core = opening::core(settings).await?;
            let row = opening::account(&core, &email).await?;
            accounts::set_plan(&core, row.id, plan).await?;
            changed(&core, &email).await
        }
        UserCommand::SetPassword(args) => set_password(args, settings).await,
        UserCommand::Disable(EmailArgs { email }) => set_disabled(&email, true, settings).await,
        UserCommand::Enable(EmailArgs { email }) => set_disabled(&email, false, settings).await,
        UserCommand::SetOperator(SetOperatorArgs { email, remove }) => {
            let core = opening::core(settings).await?;
            let row = opening::account(&core, &email).await?;
            accounts::set_operator(&core, row.id, !remove).await?;
            changed(&core, &email).await
        }
        UserCommand::Delete(args) => delete(args, settings).await,
    }
}

/// Checks the name of a user, by the rules of the app.
fn user_name(text: &str) -> Result<String, String> {
    DisplayName::<0, 300>::try_from(text.to_owned()).map(DisplayName::into_inner)
}

async fn add(args: AddArgs, settings: &Settings) -> Result<CommandOutput, Failure> {
    let AddArgs { email, plan, name, password_stdin } = args;
    // The first account is often the first command, so it may create the database.
    let core = opening::core_or_new(settings).await?;
    // Before the password is typed. If two commands run at the same time, the insert decides.
    if let Ok(taken) = accounts::by_email(&core, &email).await {
        return Err(Failure::EmailTaken(taken.email));
    }
    let password = password::read_password(password_stdin)?;
    let is_first = !accounts::has_any(&core).await?;
    let new = NewAccount { email: email.clone(), name, password, plan };
    let row = match accounts::create(&core, new).await {
        Ok(row) => row,
        Err(Error::Conflict(_)) => return Err(Failure::EmailTaken(email)),
        Err(other) => return Err(other.into()),
    };
    if is_first {
        // Who sets the server up runs it.
        accounts::set_operator(&core, row.id, true).await?;
    }
    let database = opening::database_place(settings);
    CommandOutput::of(&AddedAccount { user_id: row.id, email: row.email, plan: row.plan, database })
}

async fn list(core: &CoreContext) -> Result<CommandOutput, Failure> {
    let users = accounts::all(core).await?.into_iter().map(AccountView::from).collect();
    CommandOutput::of(&AccountList { users })
}

async fn set_password(args: SetPasswordArgs, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    let row = opening::account(&core, &args.email).await?;
    let password = password::read_password(args.password_stdin)?;
    accounts::set_password(&core, row.id, password, None).await?;
    CommandOutput::of(&PasswordSet { account: AccountView::from(row), password_set: true })
}

async fn set_disabled(email: &str, disabled: bool, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    let row = opening::account(&core, email).await?;
    accounts::set_disabled(&core, row.id, disabled).await?;
    changed(&core, email).await
}

/// Shows the account as it is after a change.
async fn changed(core: &CoreContext, email: &str) -> Result<CommandOutput, Failure> {
    CommandOutput::of(&AccountView::from(opening::account(core, email).await?))
}

async fn delete(args: DeleteArgs, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    let row = opening::account(&core, &args.email).await?;
    if !args.yes {
        confirmation::confirm_account_deletion(&row.email)?;
    }
    accounts::delete(&core, row.id).await?;
    CommandOutput::of(&DeletedAccount { user_id: row.id, email: row.email, deleted: true })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AddedAccount {
    user_id: UserId,
    email: String,
    plan: Plan,
    /// Where the account was created: with the settings of another server, that is another library.
    #[serde(skip)]
    database: String,
}

impl fmt::Display for AddedAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user_id, email, plan, database } = self;
        write!(
            f,
            "created the account {} (plan {plan}, id {user_id}); the database is {database}",
            shown(email)
        )
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccountView {
    user_id: UserId,
    email: String,
    name: Option<String>,
    plan: Plan,
    disabled: bool,
    operator: bool,
    created_at: Timestamp,
}

impl From<user::Model> for AccountView {
    fn from(row: user::Model) -> Self {
        Self {
            user_id: row.id,
            email: row.email,
            name: row.name,
            plan: row.plan,
            disabled: row.disabled_at.is_some(),
            operator: row.operator_since.is_some(),
            created_at: row.created_at,
        }
    }
}

impl AccountView {
    fn state(&self) -> &'static str {
        match (self.disabled, self.operator) {
            (false, false) => "enabled",
            (false, true) => "enabled, operator",
            (true, false) => "disabled",
            (true, true) => "disabled, operator",
        }
    }
}

impl fmt::Display for AccountView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: plan {}, {}", shown(&self.email), self.plan, self.state())
    }
}

#[derive(Serialize)]
struct AccountList {
    users: Vec<AccountView>,
}

impl fmt::Display for AccountList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.users.is_empty() {
            return f.write_str("no account exists; `carrel user add` creates one");
        }
        let row = |account: &AccountView| {
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
struct PasswordSet {
    #[serde(flatten)]
    account: AccountView,
    password_set: bool,
}

impl fmt::Display for PasswordSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "set the password of {}; its sessions have ended and its apps are disconnected, its API keys still work",
            shown(&self.account.email)
        )
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeletedAccount {
    user_id: UserId,
    email: String,
    deleted: bool,
}

impl fmt::Display for DeletedAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "deleted the account {} and everything in it", shown(&self.email))
    }
}
