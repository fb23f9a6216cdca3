//! Takes models out of a folder or an archive that someone has at hand.

use std::path::{Path, PathBuf};

use super::{Catalogue, Model, StageError, Store, stage::Stage, unpack::UnpackError};

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The store has no folder to put models in.
    #[error("no folder for models is set")]
    Nowhere,
    /// The folder or archive cannot be read.
    #[error(transparent)]
    Unpack(#[from] UnpackError),
    /// The model's files cannot be put into place.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// No known model is there with all its files.
    #[error("there is no known model in {}", .0.display())]
    Nothing(PathBuf),
}

/// Imports every model of the catalogue whose files are all in `path`, and answers their names and places.
///
/// Files are known by their digests, so names and folders inside do not matter. Blocks while files are read.
///
/// # Errors
/// When `path` cannot be read, or holds no whole model.
pub fn import(
    store: &Store,
    catalogue: &Catalogue,
    path: &Path,
) -> Result<Vec<(String, PathBuf)>, ImportError> {
    let root = store.root().ok_or(ImportError::Nowhere)?;
    let mut imported = Vec::new();
    for model in catalogue.models() {
        if let Some(place) = import_one(root, model, path)? {
            imported.push((model.name.clone(), place));
        }
    }
    if imported.is_empty() { Err(ImportError::Nothing(path.to_owned())) } else { Ok(imported) }
}

fn import_one(root: &Path, model: &Model, path: &Path) -> Result<Option<PathBuf>, ImportError> {
    let stage = Stage::open(root, model)?;
    stage.take_from(path)?;
    if stage.missing().is_empty() { Ok(Some(stage.finish()?)) } else { Ok(None) }
}
