//! `carrel reindex`: rebuilds the search index. A running server does it in the background, or the next one.

use std::fmt;

use actors::ingest::reindex;
use serde::Serialize;

use super::failure::Failure;
use super::output::CommandOutput;
use super::{opening, probe};
use crate::settings::Settings;

/// Enqueues a job for each document that has a text.
pub async fn run(settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    let documents = reindex::enqueue_all(&core.db, core.clock.now()).await?;
    CommandOutput::of(&QueuedReindex { documents, server_running: probe::is_server_running(settings).await })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QueuedReindex {
    documents: u64,
    server_running: bool,
}

impl fmt::Display for QueuedReindex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let progress = if self.server_running {
            "the server indexes them in the background"
        } else {
            "no server is running: the server indexes them at its next start"
        };
        write!(f, "queued {} documents for indexing; {progress}", self.documents)
    }
}
