//! `carrel export`: exports everything in an account as one archive. The running server packs it, or the next start if none runs.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use entity::export;
use errors::Error;
use jobs::JobKind;
use library::context::CoreContext;
use library::exports;
use serde::Serialize;
use storage::blobs::BlobStore;
use values::id::ExportId;
use values::kind::ExportState;

use super::failure::Failure;
use super::opening::OwnerArgs;
use super::output::CommandOutput;
use super::waiting::Progress;
use super::{opening, progress, waiting};
use crate::server;
use crate::settings::Settings;

/// The account, and the file to write.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    owner: OwnerArgs,
    /// File to write the archive to; it must not exist yet
    file: PathBuf,
}

/// Exports the account and copies the archive to the file.
pub async fn run(args: ExportArgs, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = opening::core(settings).await?;
    let owner = args.owner.find(&core).await?;
    // Before the export is packed, which takes long. `copy_file` checks again.
    if let Err(cause) = require_target(&args.file) {
        return Err(Failure::Path { what: "write", path: args.file, cause });
    }
    // The server would not start the job.
    server::measured_disks(settings).require_room().map_err(Error::from)?;
    let begun = exports::begin(&core, owner.id).await?;
    // The export is stored as a job, so it is packed later if no server runs now.
    let Some(done) = wait_for_end(&core, settings, &begun).await? else {
        let queued =
            ExportOutput { export_id: begun.id, status: begun.state, file: None, server_running: false };
        return CommandOutput::of(&queued);
    };
    if done.state != ExportState::Done {
        return Err(Failure::NotExported(done.error.unwrap_or_default()));
    }
    copy(&core, &*server::files(settings).map_err(Failure::Service)?, &done, &args.file).await?;
    let exported =
        ExportOutput { export_id: done.id, status: done.state, file: Some(args.file), server_running: true };
    CommandOutput::of(&exported)
}

/// Waits for the end of the export; `None` if no server runs, and the next start packs it.
async fn wait_for_end(
    core: &CoreContext,
    settings: &Settings,
    begun: &export::Model,
) -> Result<Option<export::Model>, Error> {
    let bar = progress::bytes("packing".to_owned(), None);
    waiting::until_done((core, settings), (JobKind::Export, begun.id.0), &bar, async || {
        let export = exports::find(core, begun.user_id, begun.id).await?;
        bar.set_position(export.bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default());
        let is_running = export.state == ExportState::Running;
        Ok(if is_running { Progress::Open(export.error) } else { Progress::Done(export) })
    })
    .await
}

async fn copy(
    core: &CoreContext,
    store: &dyn BlobStore,
    done: &export::Model,
    to: &Path,
) -> Result<(), Failure> {
    let local = exports::open_file(core, store, done).await?;
    let fault = |cause| Failure::Path { what: "write", path: to.to_owned(), cause };
    let (from, to) = (local.path().to_owned(), to.to_owned());
    let copied = tokio::task::spawn_blocking(move || copy_file(&from, &to)).await;
    copied.map_err(io::Error::other).and_then(|copied| copied).map_err(fault)
}

/// Checks that an archive can be written to this path.
fn require_target(file: &Path) -> io::Result<()> {
    if file.to_str() == Some("-") {
        let reason = "an export is not written to standard output; name a file, such as export.zip";
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    if file.exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file already exists"));
    }
    let folder = folder_of(file);
    if !folder.is_dir() {
        let reason =
            format!("the folder {} does not exist; create it, or name another one", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    Ok(())
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Copies a file to a temporary one in the target folder, and renames that when it is complete. A copy that fails leaves no
/// file, and a file that was created at the target meanwhile is not overwritten.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    // By its kind alone: the text of the error has the name of the temporary file.
    let mut temporary = tempfile::NamedTempFile::new_in(folder_of(to)).map_err(|error| error.kind())?;
    io::copy(&mut std::fs::File::open(from)?, temporary.as_file_mut())?;
    // Before the rename: after a power loss the name must not stand for an incomplete file.
    temporary.as_file().sync_all()?;
    temporary.persist_noclobber(to).map(drop).map_err(|error| error.error)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportOutput {
    export_id: ExportId,
    status: ExportState,
    /// The archive; `None` if it is not packed yet.
    file: Option<PathBuf>,
    server_running: bool,
}

impl fmt::Display for ExportOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "exported to {}", file.display()),
            None => f.write_str(
                "no server is running: the server creates the archive at its next start; run this command again after that",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_a_new_file_in_an_existing_folder() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let reason = |file: &Path| require_target(file).unwrap_err().to_string();

        require_target(&folder.path().join("export.zip")).unwrap();
        require_target(Path::new("./-")).unwrap();
        assert!(reason(Path::new("-")).contains("standard output"));
        assert_eq!(reason(folder.path()), "the file already exists");
        assert_eq!(
            reason(&missing.join("export.zip")),
            format!("the folder {} does not exist; create it, or name another one", missing.display())
        );
    }

    #[test]
    fn error_of_a_copy_does_not_name_the_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        std::fs::write(&from, "archive").unwrap();

        let error = copy_file(&from, &folder.path().join("missing").join("export.zip")).unwrap_err();

        assert_eq!((error.kind(), error.to_string().contains(".tmp")), (io::ErrorKind::NotFound, false));
    }
}
