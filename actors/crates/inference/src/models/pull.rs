//! Fetches a model: from its own address, else out of the package that carries the same files.

use std::{fmt, path::PathBuf, sync::Arc};

use reqwest::Client;
use tokio::task::{JoinError, spawn_blocking};

use super::{
    DownloadError, Model, Package, PackageError, StageError, Store,
    download::{client, download},
    package::fetch,
    reasons,
    stage::Stage,
    unpack::UnpackError,
};

/// Where a model can come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Its own address.
    Home,
    /// A package of the Python index.
    Package,
}

/// How a pull is getting on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A source is asked.
    Asking(Source),
    /// So many bytes of a file are here.
    Received {
        /// The file's name.
        file: &'a str,
        /// Bytes that are here.
        bytes: u64,
        /// Bytes that it has.
        of: u64,
    },
    /// A source could not give the model.
    Refused(&'a Refusal),
}

/// Why a model was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The store has no folder to put models in.
    #[error("could not fetch the model: no folder for models is set")]
    Nowhere,
    /// Every source refused.
    #[error("could not fetch the model `{model}`: {}", .refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused {
        /// The model's name.
        model: String,
        /// What each source had against it, in the order of asking.
        refusals: Vec<Refusal>,
    },
    /// The model's files cannot be put into place.
    #[error("could not put the model into its folder")]
    Stage(#[from] StageError),
    /// The program is ending.
    #[error("fetching the model was stopped")]
    Stopped(#[from] JoinError),
}

/// A source that could not give the model.
#[derive(Debug)]
pub struct Refusal {
    /// Which.
    pub source: Source,
    /// Why not.
    pub cause: SourceError,
}

/// What a source has against it.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The address did not give it.
    #[error(transparent)]
    Download(#[from] DownloadError),
    /// The package did not come.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The package cannot be read.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// A file is not what it should be, or cannot be kept.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// A file of the model is not in the package.
    #[error("the package has no file {0}")]
    Lacks(String),
    /// The program is ending.
    #[error("the download was stopped")]
    Stopped(#[from] JoinError),
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Home => "its own address",
            Self::Package => "its package",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "from {}: {}", self.source, reasons(&self.cause))
    }
}

/// Makes sure that a model is there and what it should be, and answers its folder: at once where it is, else from
/// the first source that has it. What an interrupted pull left behind is used.
///
/// A model that is there is read and compared; where only its presence matters, ask [`Store::find`] first.
///
/// # Errors
/// When no source can give it, another process is at it, or the folder cannot be written.
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
    let (there, wanted) = (store.clone(), model.clone());
    if let Ok(place) = spawn_blocking(move || there.verify(&wanted)).await? {
        return Ok(place);
    }
    let root = store.root().ok_or(PullError::Nowhere)?.to_owned();
    let wanted = model.clone();
    let stage = Arc::new(spawn_blocking(move || Stage::open(&root, &wanted)).await??);

    let mut refusals = Vec::new();
    let packages = (!model.packages.is_empty()).then_some(Source::Package);
    for source in [Some(Source::Home), packages].into_iter().flatten() {
        progress(Progress::Asking(source));
        let came = match source {
            Source::Package => from_packages(&model.packages, &stage).await,
            Source::Home => from_home(client, &model.home, &stage, progress).await,
        };
        match came {
            Ok(()) => return Ok(spawn_blocking(move || stage.finish()).await??),
            Err(cause) => {
                let refusal = Refusal { source, cause };
                progress(Progress::Refused(&refusal));
                refusals.push(refusal);
            }
        }
    }
    Err(PullError::Refused { model: model.name.clone(), refusals })
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
        download(&client, &url, &file, &stage.part(&file), &received).await?;
        let stage = Arc::clone(stage);
        spawn_blocking(move || stage.keep(&file)).await??;
    }
    Ok(())
}

async fn from_packages(packages: &[Package], stage: &Arc<Stage>) -> Result<(), SourceError> {
    for package in packages {
        let archive = fetch(package, &stage.spare()?).await?;
        let stage = Arc::clone(stage);
        spawn_blocking(move || stage.take_from(&archive)).await??;
    }
    match stage.missing().into_iter().next() {
        Some(file) => Err(SourceError::Lacks(file.name)),
        None => Ok(()),
    }
}
