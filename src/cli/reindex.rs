//! `carrel reindex`: asks for every document to be put into the index anew. A running server does it, or the next one.

use std::fmt;

use actors::accounts;
use actors::desk::Desk;
use actors::error::Error;
use actors::ingest::queue::{self, Priority, Work};
use entity::document;
use entity::id::UserId;
use serde::Serialize;

use super::failure::Failure;
use super::output::Said;
use super::{opening, probe};
use crate::settings::Settings;

/// Jobs that one transaction leaves: a server beside this one writes in between.
const AT_ONCE: usize = 200;

/// Leaves a job for each document that has a text.
pub async fn run(settings: &Settings) -> Result<Said, Failure> {
    let desk = opening::desk(settings).await?;
    let mut documents = 0;
    for user in accounts::all(&desk).await? {
        documents += ask_for_all(&desk, user.id).await?;
    }
    Said::of(&Queued { documents, server_running: probe::runs(settings).await })
}

async fn ask_for_all(desk: &Desk, user: UserId) -> Result<usize, Error> {
    let mut documents = document::Entity::of(user).all(desk.db.read()).await?;
    // What has no text yet is put into the index when it comes; a job now would call it ready.
    documents.retain(|document| document.version > 0 && document.hidden_at.is_none());
    for some in documents.chunks(AT_ONCE) {
        let txn = desk.db.begin().await?;
        for document in some {
            let now = desk.clock.now();
            queue::ask(&txn, user, Work::Index, document.id.0, Priority::Backlog, now).await?;
        }
        txn.commit().await?;
    }
    Ok(documents.len())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Queued {
    documents: usize,
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
