//! Opening the desk: the folder of the data, the database in it, and what the operator names in it.

use std::sync::Arc;

use actors::accounts;
use actors::clock::SystemClock;
use actors::desk::Desk;
use actors::error::Error;
use entity::user;

use super::failure::Failure;
use super::folder;
use crate::settings::Settings;

/// Opens the database that the settings name, and brings its tables up to date.
pub async fn desk(settings: &Settings) -> Result<Desk, Failure> {
    folder::make_with_database(settings)?;
    let (address, base) = (settings.database_url(), settings.base_url(settings.server.listen));
    let clock = Arc::new(SystemClock::new());
    let plans = settings.plans.clone();
    let opened = Desk::open(address.expose(), settings.data_dir.clone(), base.as_str(), plans, clock).await;
    opened.map_err(|cause| Failure::Database(cause.into()))
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
