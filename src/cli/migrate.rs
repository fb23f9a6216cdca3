//! `carrel migrate`: creates the database and brings its tables up to date. Every command that opens the database, except `doctor`,
//! also brings its tables up to date. `serve` and `user add` create a database too, unless `data_dir` holds a library whose database
//! was lost: only this command creates a new one there.

use std::fmt;

use serde::Serialize;

use super::failure::Failure;
use super::opening;
use super::output::CommandOutput;
use crate::settings::Settings;

/// Creates or migrates the database.
pub async fn run(settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core_of_any_database(settings).await?;
    CommandOutput::of(&MigrationReport { database: opening::kind(&core), migrated: true })
}

#[derive(Serialize)]
struct MigrationReport {
    database: &'static str,
    migrated: bool,
}

impl fmt::Display for MigrationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tables of the {} database are up to date", self.database)
    }
}
