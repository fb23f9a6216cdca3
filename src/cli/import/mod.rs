//! `carrel import`: a file of another program, or an export, into a library. It goes to the store with a job, as one does
//! that comes by the web; the server takes it in, or the next start where none runs.

mod file;
pub mod report;

use std::path::PathBuf;

use actors::desk::Desk;
use actors::error::Error;
use actors::imports::{self, Format, New};
use actors::ingest::queue::Work;
use clap::Args;
use entity::import;
use entity::kind::ImportState;

use self::report::{Left, Report};
use super::failure::Failure;
use super::output::CommandOutput;
use super::waiting::Progress;
use super::{opening, probe, progress, waiting};
use crate::server;
use crate::settings::Settings;

/// What to import, and for whom.
#[derive(Debug, Args)]
pub struct Asked {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    user: String,
    /// What the file is; found out when left out
    #[arg(long, value_parser = format)]
    format: Option<Format>,
    /// Say what would come of it, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// The file, or - for standard input
    file: PathBuf,
}

fn format(name: &str) -> Result<Format, String> {
    name.parse().map_err(|_| format!("is none of {}", Format::NAMES.join(", ")))
}

/// Has the file imported, and reports.
pub async fn run(asked: Asked, settings: &Settings) -> Result<CommandOutput, Failure> {
    let desk = opening::desk(settings).await?;
    let owner = opening::account(&desk, &asked.user).await?;
    imports::may_begin(&desk, owner.id).await?;
    let store = server::files(settings).map_err(Failure::Service)?;
    let file = file::stored(&desk, &*store, owner.id, &asked.file).await?;
    let new = New { user: owner.id, file_name: None, format: asked.format, dry_run: asked.dry_run };
    let begun = imports::begin(&desk, new, file).await?;
    match ended(&desk, settings, &begun).await? {
        Some(import) => told(&desk, &import, settings).await,
        None => CommandOutput::of(&Left::of(&begun)),
    }
}

/// The import when nothing more is taken of it; none where it is left for the next start.
async fn ended(
    desk: &Desk,
    settings: &Settings,
    begun: &import::Model,
) -> Result<Option<import::Model>, Error> {
    let bar = progress::count("importing");
    waiting::until_done((desk, settings), (Work::Import, begun.id.0), &bar, async || {
        let import = imports::find(desk, begun.user_id, begun.id).await?;
        bar.set_position(rows(&import));
        let running = import.state == ImportState::Running;
        Ok(if running { Progress::Open(import.error) } else { Progress::Done(import) })
    })
    .await
}

async fn told(desk: &Desk, import: &import::Model, settings: &Settings) -> Result<CommandOutput, Failure> {
    match import.state {
        ImportState::Done | ImportState::Checked => {
            let report = Report::of(desk, import, probe::runs(settings).await).await?;
            Ok(CommandOutput::of(&report)?.ended(report.is_good()))
        }
        ImportState::Failed => {
            Err(Failure::NotImported { rows: rows(import), reason: import.error.clone().unwrap_or_default() })
        }
        ImportState::Running
        | ImportState::Paused
        | ImportState::Undoing
        | ImportState::HalfUndone
        | ImportState::Undone => Err(Failure::Interrupted { rows: rows(import) }),
    }
}

fn rows(import: &import::Model) -> u64 {
    u64::try_from(import.done).unwrap_or_default()
}
