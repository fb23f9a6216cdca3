//! Opens the database for a command, and finds the account that the operator names.

use std::path::absolute;
use std::sync::Arc;

use actors::auth::accounts;
use clap::Args;
use database::Db;
use entity::user;
use errors::Error;
use library::clock::SystemClock;
use library::context::CoreContext;

use super::failure::Failure;
use super::folder;
use crate::library_database::{self, ConnectError, setting_of_database};
use crate::settings::Settings;

/// The account that a command works for.
#[derive(Debug, Args)]
pub struct OwnerArgs {
    /// E-mail address of the account; optional if only one account exists
    #[arg(long = "user", value_name = "EMAIL")]
    email: Option<String>,
}

impl OwnerArgs {
    /// Finds the account that was named, or the only one.
    ///
    /// # Errors
    /// [`Failure::NoAccount`], [`Failure::NoAccounts`] or [`Failure::SeveralAccounts`];
    /// [`Failure::Refused`] when the database fails.
    pub async fn find(&self, core: &CoreContext) -> Result<user::Model, Failure> {
        match &self.email {
            Some(email) => account(core, email).await,
            None => only_account(core).await,
        }
    }
}

async fn only_account(core: &CoreContext) -> Result<user::Model, Failure> {
    let mut all = accounts::all(core).await?;
    match all.len() {
        0 | 1 => all.pop().ok_or(Failure::NoAccounts),
        several => Err(Failure::SeveralAccounts(several)),
    }
}

/// Opens the database that the settings name, and brings its tables up to date. It must have been created before.
///
/// # Errors
/// [`Failure::NoDatabase`]; [`Failure::LostDatabase`]; [`Failure::Database`] when it cannot be opened.
pub async fn core(settings: &Settings) -> Result<CoreContext, Failure> {
    let Some(db) = library_database::connect_existing(settings).await? else {
        return Err(no_database(settings));
    };
    migrated(settings, db).await
}

/// Opens the database like [`core()`], and creates it if there is none. One that was lost is not replaced.
///
/// # Errors
/// [`Failure::LostDatabase`]; [`Failure::Database`] when it cannot be opened or created.
pub async fn core_or_new(settings: &Settings) -> Result<CoreContext, Failure> {
    // Before anything is created: a new file in the place of a lost one would hide the loss.
    library_database::require_file(settings)?;
    folder::create_with_database(settings)?;
    migrated(settings, library_database::connect(settings).await?).await
}

/// Opens the database like [`core()`], and creates it even if another one was lost.
///
/// # Errors
/// [`Failure::Database`] when it cannot be opened or created.
pub async fn core_of_any_database(settings: &Settings) -> Result<CoreContext, Failure> {
    folder::create_with_database(settings)?;
    let db = Db::open(settings.database_url().expose()).await;
    Ok(context_over(settings, db.map_err(|cause| ConnectError::unopened(settings, cause))?))
}

/// Opens the database and leaves its tables as they are, for commands that only look at it.
///
/// # Errors
/// [`ConnectError::Lost`] when the database was lost; [`ConnectError::Open`] when it cannot be opened.
pub async fn unmigrated_core(settings: &Settings) -> Result<CoreContext, ConnectError> {
    Ok(context_over(settings, library_database::connect(settings).await?))
}

async fn migrated(settings: &Settings, db: Db) -> Result<CoreContext, Failure> {
    db.migrate().await.map_err(|cause| ConnectError::unopened(settings, cause))?;
    Ok(context_over(settings, db))
}

fn context_over(settings: &Settings, db: Db) -> CoreContext {
    let (folder, plans) = (settings.data_dir.clone(), settings.plans.clone());
    let base = settings.base_url(settings.server.listen);
    CoreContext::new(db, folder, base.as_str(), plans, Arc::new(SystemClock::new()))
}

/// Returns where the database is, with the preposition: the absolute path of its file, or its server.
pub fn database_place(settings: &Settings) -> String {
    let url = settings.database_url();
    match url.sqlite_file() {
        Some(file) => format!("at {}", absolute(&file).unwrap_or(file).display()),
        None => format!("in {}", url.place()),
    }
}

fn no_database(settings: &Settings) -> Failure {
    let place = database_place(settings);
    let setting = setting_of_database(settings);
    let variable = format!("CARREL__{}", setting.to_uppercase().replace('.', "__"));
    Failure::NoDatabase { place, setting, variable }
}

/// Returns the account with this e-mail address.
///
/// # Errors
/// [`Failure::NoAccount`]; [`Failure::Refused`] when the database fails.
pub async fn account(core: &CoreContext, email: &str) -> Result<user::Model, Failure> {
    match accounts::by_email(core, email).await {
        Ok(found) => Ok(found),
        Err(Error::NotFound(_)) => Err(Failure::NoAccount(email.to_owned())),
        Err(other) => Err(other.into()),
    }
}

/// Returns the name of the database system, for output.
pub fn kind(core: &CoreContext) -> &'static str {
    if core.db.is_postgres() { "PostgreSQL" } else { "SQLite" }
}
