//! `carrel reindex`: rebuilds the search index, or moves it between the data folder and a Qdrant server. A running server rebuilds it in the
//! background, or the next one does. It is moved by the command itself, while no server runs, and nothing is embedded.

use std::fmt;
use std::fs::File;

use actors::ingest::reindex;
use actors::ingest::repair::{Relocation, relocate};
use clap::{Args, ValueEnum};
use library::context::CoreContext;
use search::index::{CopyReport, IndexFolder, IndexStore};
use serde::Serialize;

use super::failure::Failure;
use super::output::CommandOutput;
use super::{opening, probe, progress};
use crate::data_dir::{give_all_to_owner, is_locked, lock};
use crate::server::{IndexStores, index_stores};
use crate::settings::Settings;

/// Whether the index is rebuilt or moved.
#[derive(Debug, Args)]
pub struct ReindexArgs {
    /// Move the index with its vectors, instead of rebuilding it; stop all servers first, and set `vectors.url`
    #[arg(long, value_name = "PLACE")]
    to: Option<IndexTarget>,
}

/// Where the index is moved.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum IndexTarget {
    /// To the data folder, from the Qdrant server of `vectors.url`
    Folder,
    /// To the Qdrant server of `vectors.url`, from the data folder
    Server,
}

/// Why there is nothing to move to or from.
const NO_SERVER: &str = "vectors.url is not set; set it to the Qdrant server, also to move the index from there to the data folder";

/// Enqueues a job for each document that has a text, or moves the index.
pub async fn run(args: ReindexArgs, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    if let Some(target) = args.to {
        return relocate_index(target, settings, &core).await;
    }
    let documents = reindex::enqueue_all(&core.db, core.clock.now()).await?;
    let server_running = probe::is_server_running(settings).await;
    CommandOutput::of(&QueuedReindex { documents, server_running })
}

async fn relocate_index(
    target: IndexTarget,
    settings: &Settings,
    core: &CoreContext,
) -> Result<CommandOutput, Failure> {
    let _lock = lock_data_dir(settings)?;
    let Some(IndexStores { folder, server }) =
        index_stores(settings, core).await.map_err(Failure::NotMoved)?
    else {
        return Err(Failure::NotMoved(NO_SERVER.into()));
    };
    let (from, to) = match target {
        IndexTarget::Folder => (server, folder),
        IndexTarget::Server => (folder, server),
    };
    let moved = copy_and_record(core, &from, &to).await;
    // Also after a failure, and also of the index that is moved, whose files are written when it is opened: a command that root runs must not
    // leave files that the server cannot open.
    let given = [&from, &to].map(|store| store.folder().map_or(Ok(()), give_index_to_owner));
    let Relocation { copy: CopyReport { passages, users, removed }, surplus } = moved?;
    given.into_iter().collect::<Result<(), Failure>>()?;
    let (from, to) = (from.description(), to.description());
    CommandOutput::of(&MovedIndex { passages, users, removed, surplus, from, to, target })
}

async fn copy_and_record(
    core: &CoreContext,
    from: &IndexStore,
    to: &IndexStore,
) -> Result<Relocation, Failure> {
    let bar = progress::count("passages copied");
    let shown = bar.clone();
    let on_progress = move |copied| shown.set_position(u64::try_from(copied).unwrap_or(u64::MAX));
    let moved = relocate(&core.db, from, to, &*core.clock, on_progress).await;
    bar.finish_and_clear();
    moved.map_err(|error| Failure::NotMoved(error.into()))
}

fn give_index_to_owner(folder: &IndexFolder) -> Result<(), Failure> {
    let path = folder.path();
    give_all_to_owner(&path).map_err(|cause| Failure::Path { what: "change the owner of", path, cause })
}

/// Locks the data folder, so that no server can start on it.
fn lock_data_dir(settings: &Settings) -> Result<File, Failure> {
    let folder = &settings.data_dir;
    lock(folder).map_err(|cause| {
        if is_locked(folder) != Some(true) {
            return Failure::NotMoved(cause);
        }
        let folder = folder.display();
        let running = format!("a server runs on data_dir {folder}; stop it first, because nothing may change the index meanwhile");
        Failure::NotMoved(running.into())
    })
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MovedIndex {
    passages: usize,
    users: usize,
    /// Passages that were at the new place before, and that the index does not have.
    removed: usize,
    /// Passages of the index beyond those that the database expects.
    surplus: u64,
    from: String,
    to: String,
    #[serde(skip)]
    target: IndexTarget,
}

impl fmt::Display for MovedIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passages, users, removed, surplus, from, to, target } = self;
        writeln!(f, "moved {passages} passages of {users} users")?;
        writeln!(f, "from {from}")?;
        writeln!(f, "to {to}")?;
        if *removed > 0 {
            writeln!(f, "removed {removed} other passages there")?;
        }
        f.write_str("counted the passages of every user at both places: the numbers are the same\n")?;
        if *surplus > 0 {
            writeln!(
                f,
                "the index has {surplus} passages that the database does not expect: the next start compares it with the database"
            )?;
        }
        f.write_str(match target {
            IndexTarget::Folder => "remove vectors.url from the settings before the server is started",
            IndexTarget::Server => {
                "start the server with vectors.url; remove the folder once search works as you expect"
            }
        })
    }
}
