//! Opening the desk: the folder of the data, the database in it, and what the operator names in it.

use std::sync::Arc;

use actors::accounts;
use actors::clock::SystemClock;
use actors::desk::Desk;
use actors::error::Error;
use database::Db;
use entity::user;

use super::failure::Failure;
use super::folder;
use crate::library_database::{self, ConnectError};
use crate::settings::Settings;

/// Opens the database that the settings name, and brings its tables up to date. One that was lost is not created anew.
pub async fn desk(settings: &Settings) -> Result<Desk, Failure> {
    library_database::require_file(settings)?;
    folder::make_with_database(settings)?;
    let db = library_database::connect(settings).await?;
    db.migrate().await.map_err(|cause| Failure::Database(cause.into()))?;
    Ok(desk_over(settings, db))
}

/// Opens the database that the settings name, and brings its tables up to date. Creates it, also where another one was lost.
pub async fn desk_of_any_database(settings: &Settings) -> Result<Desk, Failure> {
    folder::make_with_database(settings)?;
    let db = Db::open(settings.database_url().expose()).await;
    Ok(desk_over(settings, db.map_err(|cause| Failure::Database(cause.into()))?))
}

/// Opens the database as it is, to look at it.
pub async fn as_it_is(settings: &Settings) -> Result<Desk, ConnectError> {
    Ok(desk_over(settings, library_database::connect(settings).await?))
}

fn desk_over(settings: &Settings, db: Db) -> Desk {
    let (folder, plans) = (settings.data_dir.clone(), settings.plans.clone());
    let base = settings.base_url(settings.server.listen);
    Desk::of(db, folder, base.as_str(), plans, Arc::new(SystemClock::new()))
}

/// The account with this address.
pub async fn account(desk: &Desk, email: &str) -> Result<user::Model, Failure> {
    match accounts::by_email(desk, email).await {
        Ok(found) => Ok(found),
        Err(Error::NotFound) => Err(Failure::NoAccount(email.to_owned())),
        Err(other) => Err(other.into()),
    }
}

/// What the database is called.
pub fn kind(desk: &Desk) -> &'static str {
    if desk.db.is_postgres() { "PostgreSQL" } else { "SQLite" }
}
