//! `carrel import`: imports a file of another program, or an export of Carrel. The file goes to the store with a job, like an import over
//! HTTP; the running server imports it, or the next start if none runs.

mod file;
mod formats;
pub mod report;

use std::path::{Path, PathBuf};

use clap::Args;
use entity::import;
use errors::Error;
use jobs::JobKind;
use library::context::CoreContext;
use library::imports::{self, NewImport};
use parse::bookmarks::Format;
use values::kind::ImportState;

use self::report::{ImportOutput, QueuedImport};
use super::failure::Failure;
use super::opening::OwnerArgs;
use super::output::CommandOutput;
use super::waiting::Progress;
use super::{opening, probe, progress, waiting};
use crate::server;
use crate::settings::Settings;

/// The file to import, and the account.
#[derive(Debug, Args)]
pub struct ImportArgs {
    #[command(flatten)]
    owner: OwnerArgs,
    /// Format of the file (detected if omitted)
    #[arg(long, value_parser = formats::format())]
    format: Option<Format>,
    /// Show what the import would do, without changing anything
    #[arg(long)]
    dry_run: bool,
    /// The file, or - for standard input
    file: PathBuf,
}

/// Imports the file and reports the outcomes of its rows.
pub async fn run(args: ImportArgs, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    let owner = args.owner.find(&core).await?;
    // Before the file is copied to the store, which takes long for a large one.
    imports::ensure_can_begin(&core, owner.id).await?;
    let store = server::files(settings).map_err(Failure::Service)?;
    let file = file::store(&core, &*store, owner.id, &args.file).await?;
    let file_name = file_name(&args.file);
    let new = NewImport { user: owner.id, file_name, format: args.format, dry_run: args.dry_run };
    let begun = imports::begin(&core, new, file).await?;
    match wait_for_end(&core, settings, &begun).await? {
        Some(import) => report(&core, &import, settings).await,
        None => CommandOutput::of(&QueuedImport::of(&begun)),
    }
}

/// The name of the file; `None` for standard input.
fn file_name(path: &Path) -> Option<String> {
    let name = path.file_name().filter(|_| path.to_str() != Some("-"))?;
    Some(name.to_string_lossy().into_owned())
}

/// Waits for the end of the import; `None` if no server runs, and the next start imports it.
async fn wait_for_end(
    core: &CoreContext,
    settings: &Settings,
    begun: &import::Model,
) -> Result<Option<import::Model>, Error> {
    let bar = progress::count("importing");
    waiting::until_done((core, settings), (JobKind::Import, begun.id.0), &bar, async || {
        let import = imports::find(core, begun.user_id, begun.id).await?;
        bar.set_position(imported_rows(&import));
        let is_running = import.state == ImportState::Running;
        Ok(if is_running { Progress::Open(import.error) } else { Progress::Done(import) })
    })
    .await
}

async fn report(
    core: &CoreContext,
    import: &import::Model,
    settings: &Settings,
) -> Result<CommandOutput, Failure> {
    match import.state {
        ImportState::Done | ImportState::DryRunDone => {
            let report = ImportOutput::of(core, import, probe::is_server_running(settings).await).await?;
            Ok(CommandOutput::of(&report)?.with_success(report.is_good()))
        }
        ImportState::Failed => {
            Err(Failure::NotImported { rows: imported_rows(import), reason: failure_reason(import) })
        }
        ImportState::Running
        | ImportState::Paused
        | ImportState::Undoing
        | ImportState::HalfUndone
        | ImportState::Undone => Err(Failure::Interrupted { rows: imported_rows(import) }),
    }
}

/// Why an import failed, and what to do about a file whose format was not recognised.
fn failure_reason(import: &import::Model) -> String {
    let reason = import.error.clone().unwrap_or_default();
    if imports::is_format_unknown(import) {
        return format!("{reason}; set it with --format ({})", Format::NAMES.join(", "));
    }
    reason
}

fn imported_rows(import: &import::Model) -> u64 {
    u64::try_from(import.done).unwrap_or_default()
}
