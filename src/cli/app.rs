//! `carrel app`: the apps that users connected by OAuth.

use std::fmt;

use actors::auth::grants::{disconnect, list_grants};
use actors::operations::apps::AppView;
use clap::{Args, Subcommand};
use errors::Error;
use library::context::CoreContext;
use serde::Serialize;
use values::id::GrantId;
use values::kind::GrantState;

use super::failure::Failure;
use super::opening::OwnerArgs;
use super::output::{CommandOutput, shown, table};
use super::{choices, opening};
use crate::settings::Settings;

/// A subcommand of `carrel app`.
#[derive(Debug, Subcommand)]
pub enum AppCommand {
    /// List the connected apps of an account, newest first
    List(OwnerArgs),
    /// Disconnect an app; its tokens are refused within a second
    Disconnect(DisconnectArgs),
}

/// A connected app of an account.
#[derive(Debug, Args)]
pub struct DisconnectArgs {
    #[command(flatten)]
    owner: OwnerArgs,
    /// Id of the connected app, as `carrel app list` shows it
    #[arg(value_name = "ID", value_parser = choices::app_id)]
    id: GrantId,
}

pub async fn run(command: AppCommand, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    match command {
        AppCommand::List(owner) => list(&core, &owner).await,
        AppCommand::Disconnect(DisconnectArgs { owner, id }) => disconnect_app(&core, &owner, id).await,
    }
}

async fn list(core: &CoreContext, owner: &OwnerArgs) -> Result<CommandOutput, Failure> {
    let owner = owner.find(core).await?;
    let all = list_grants(&core.accounts_db, owner.id).await?.into_iter();
    let connected = all.filter(|(grant, _)| grant.state == GrantState::Connected);
    CommandOutput::of(&AppList { apps: connected.map(AppView::from).collect() })
}

async fn disconnect_app(
    core: &CoreContext,
    owner: &OwnerArgs,
    id: GrantId,
) -> Result<CommandOutput, Failure> {
    let owner = owner.find(core).await?;
    match disconnect(&core.accounts_db, owner.id, id).await {
        Ok(_) => CommandOutput::of(&DisconnectedApp { id, disconnected: true }),
        Err(Error::NotFound(_)) => Err(Failure::NoApp),
        Err(other) => Err(other.into()),
    }
}

#[derive(Serialize)]
struct AppList {
    apps: Vec<AppView>,
}

impl fmt::Display for AppList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.apps.is_empty() {
            return f.write_str(
                "the account has no connected apps; an app connects when a user signs in from it",
            );
        }
        let row = |app: &AppView| {
            let used = app.last_used_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
            let (connected, scopes) = (app.connected_at.to_string(), app.scopes.to_string());
            [app.id.to_string(), connected, used, scopes, shown(&app.client_name)]
        };
        let rows: Vec<_> = self.apps.iter().map(row).collect();
        f.write_str(&table(["ID", "CONNECTED", "LAST USED", "SCOPES", "APP"], &rows))
    }
}

#[derive(Serialize)]
struct DisconnectedApp {
    id: GrantId,
    disconnected: bool,
}

impl fmt::Display for DisconnectedApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "disconnected the app {}", self.id)
    }
}
