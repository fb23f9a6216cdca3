//! `carrel export`: everything in an account as one archive. The server packs it; the next start does where none runs.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use library::context::CoreContext;
use errors::Error;
use library::exports;
use jobs::JobKind;
use clap::Args;
use entity::export;
use entity::id::ExportId;
use entity::kind::ExportState;
use serde::Serialize;
use storage::blobs::BlobStore;

use super::failure::Failure;
use super::opening::OwnerArgs;
use super::output::CommandOutput;
use super::waiting::Progress;
use super::{opening, progress, waiting};
use crate::server;
use crate::settings::Settings;

/// Whose library, and where to.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    owner: OwnerArgs,
    /// File to write the archive to; it must not exist yet
    file: PathBuf,
}

/// Has everything packed, and puts the archive in its place.
pub async fn run(args: ExportArgs, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    let owner = args.owner.find(&core).await?;
    if args.file.exists() {
        let cause = io::Error::new(io::ErrorKind::AlreadyExists, "the file already exists");
        return Err(Failure::Path { what: "write", path: args.file, cause });
    }
    let begun = exports::begin(&core, owner.id).await?;
    let Some(done) = packed(&core, settings, &begun).await? else {
        let left = Exported { export_id: begun.id, status: begun.state, file: None, server_running: false };
        return CommandOutput::of(&left);
    };
    if done.state != ExportState::Done {
        return Err(Failure::NotExported(done.error.unwrap_or_default()));
    }
    copy(&core, &*server::files(settings).map_err(Failure::Service)?, &done, &args.file).await?;
    let there =
        Exported { export_id: done.id, status: done.state, file: Some(args.file), server_running: true };
    CommandOutput::of(&there)
}

/// The export when it has ended; none where it is left for the next start.
async fn packed(
    core: &CoreContext,
    settings: &Settings,
    begun: &export::Model,
) -> Result<Option<export::Model>, Error> {
    let bar = progress::bytes("packing".to_owned(), None);
    waiting::until_done((core, settings), (JobKind::Export, begun.id.0), &bar, async || {
        let export = exports::find(core, begun.user_id, begun.id).await?;
        bar.set_position(export.bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default());
        let running = export.state == ExportState::Running;
        Ok(if running { Progress::Open(export.error) } else { Progress::Done(export) })
    })
    .await
}

async fn copy(core: &CoreContext, store: &dyn BlobStore, done: &export::Model, to: &Path) -> Result<(), Failure> {
    let local = exports::open_file(core, store, done).await?;
    let told = |cause| Failure::Path { what: "write", path: to.to_owned(), cause };
    let (from, to) = (local.path().to_owned(), to.to_owned());
    let placed = tokio::task::spawn_blocking(move || place(&from, &to)).await;
    placed.map_err(io::Error::other).and_then(|placed| placed).map_err(told)
}

/// Copies a file beside its place, and puts it there when it is whole: a copy that breaks off leaves nothing behind, and what
/// came to stand there meanwhile stays.
fn place(from: &Path, to: &Path) -> io::Result<()> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = tempfile::NamedTempFile::new_in(folder)?;
    io::copy(&mut std::fs::File::open(from)?, beside.as_file_mut())?;
    beside.as_file().sync_all()?;
    beside.persist_noclobber(to).map(drop).map_err(|error| error.error)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Exported {
    export_id: ExportId,
    status: ExportState,
    /// Where the archive is; none where it is still to be packed.
    file: Option<PathBuf>,
    server_running: bool,
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "exported to {}", file.display()),
            None => f.write_str("no server is running: the next start packs the export; run this again then"),
        }
    }
}
