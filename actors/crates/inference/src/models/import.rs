//! Imports models from a local folder or archive.

use std::path::{Path, PathBuf};

use super::catalogue::{Catalogue, Model};
use super::stage::{Stage, StageError};
use super::store::Store;
use super::unpack::UnpackError;

/// Why no model was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The folder or archive cannot be read.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The files of the model cannot be stored.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// No known model is complete.
    #[error("there is no known model in {}; `carrel models list` shows which are known", .0.display())]
    NoModel(PathBuf),
}

/// Imports every model of the catalogue whose files are all in `path`, and returns their names and folders.
///
/// Files are identified by their digests, so their names and folders do not matter. Blocks while files are read.
///
/// # Errors
/// [`ImportError`] when `path` cannot be read or contains no complete model.
pub fn import(
    store: &Store,
    catalogue: &Catalogue,
    path: &Path,
) -> Result<Vec<(String, PathBuf)>, ImportError> {
    let mut imported = Vec::new();
    for model in catalogue.models() {
        if let Some(folder) = import_one(store.root(), model, path)? {
            imported.push((model.name.clone(), folder));
        }
    }
    if imported.is_empty() { Err(ImportError::NoModel(path.to_owned())) } else { Ok(imported) }
}

fn import_one(root: &Path, model: &Model, path: &Path) -> Result<Option<PathBuf>, ImportError> {
    let stage = Stage::open(root, model)?;
    stage.add_from(path)?;
    if stage.missing().is_empty() { Ok(Some(stage.finish()?)) } else { Ok(None) }
}
