//! `carrel migrate`: the tables of the database. Every other command brings them up to date too; this one does nothing
//! else, for whoever wants it done at a time of their own.

use std::fmt;

use serde::Serialize;

use super::failure::Failure;
use super::opening;
use super::output::Said;
use crate::settings::Settings;

/// Migrates.
pub async fn run(settings: &Settings) -> Result<Said, Failure> {
    let desk = opening::desk(settings).await?;
    Said::of(&Migrated { database: opening::kind(&desk), migrated: true })
}

#[derive(Serialize)]
struct Migrated {
    database: &'static str,
    migrated: bool,
}

impl fmt::Display for Migrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tables in {} are up to date", self.database)
    }
}
