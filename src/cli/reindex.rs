//! `carrel reindex`: asks for every document to be put into the index anew. A running server does it, or the next one.

use std::fmt;

use actors::ingest::again;
use serde::Serialize;

use super::failure::Failure;
use super::output::CommandOutput;
use super::{opening, probe};
use crate::settings::Settings;

/// Leaves a job for each document that has a text.
pub async fn run(settings: &Settings) -> Result<CommandOutput, Failure> {
    let desk = opening::desk(settings).await?;
    let documents = again::ask_for_all(&desk.db, desk.clock.now()).await?;
    CommandOutput::of(&Queued { documents, server_running: probe::runs(settings).await })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Queued {
    documents: u64,
    server_running: bool,
}

impl fmt::Display for Queued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} documents are to be put into the index anew: {}",
            self.documents,
            probe::who(self.server_running)
        )
    }
}
