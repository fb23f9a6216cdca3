//! The folder that contains the models.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::catalogue::{Catalogue, Model, ModelFile, Purpose};
use super::digest::Digest;

/// The folder of the models. It contains a folder for each model, with the model's name.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// The status of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelStatus {
    /// Name of the model in the catalogue.
    pub name: String,
    /// The part of the server that uses it.
    pub purpose: Purpose,
    /// What the model does, for the operator.
    pub about: String,
    /// SPDX name of its licence.
    pub licence: String,
    /// Whether it is downloaded only when a setting or a command names it.
    pub optional: bool,
    /// Whether its folder has all of its files with the expected lengths; digests are not verified.
    pub present: bool,
    /// Its folder; `None` if a file is missing or has another length.
    pub path: Option<PathBuf>,
    /// Total length of its files in bytes, whether present or not.
    pub bytes: u64,
}

/// Why a model is not valid.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The model is missing or incomplete.
    #[error("the model `{0}` is not installed")]
    Missing(String),
    /// A file cannot be read.
    #[error("could not read {file} of the model `{model}`")]
    Read {
        /// Name of the model in the catalogue.
        model: String,
        /// Name of the file in the catalogue.
        file: String,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// A file has the expected length but another digest.
    #[error("the SHA-256 of {file} of the model `{model}` is {found}, which is not the expected one")]
    Digest {
        /// Name of the model in the catalogue.
        model: String,
        /// Name of the file in the catalogue.
        file: String,
        /// SHA-256 of the file in the folder.
        found: Digest,
    },
}

impl Store {
    /// Creates a store for this folder, which need not exist.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the folder of the models.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of a model if all its files have the expected lengths. Reads no file; see [`Store::verify`].
    #[must_use]
    pub fn find(&self, model: &Model) -> Option<PathBuf> {
        let folder = self.folder.join(&model.name);
        let is_complete = model.files.iter().all(|file| has_expected_length(&folder.join(&file.name), file));
        is_complete.then_some(folder)
    }

    /// Returns the status of each model of a catalogue.
    #[must_use]
    pub fn status(&self, catalogue: &Catalogue) -> Vec<ModelStatus> {
        catalogue.models().iter().map(|model| self.status_of(model)).collect()
    }

    /// Verifies the digests of all files of a model and returns its folder. Blocks for about one second per gigabyte.
    ///
    /// # Errors
    /// [`VerifyError`] when the model is missing, cannot be read, or a file has another digest.
    pub fn verify(&self, model: &Model) -> Result<PathBuf, VerifyError> {
        let folder = self.find(model).ok_or_else(|| VerifyError::Missing(model.name.clone()))?;
        for file in &model.files {
            let (model, name) = (model.name.clone(), file.name.clone());
            match Digest::of_file(&folder.join(&file.name)) {
                Ok(found) if found == file.sha256 => {}
                Ok(found) => return Err(VerifyError::Digest { model, file: name, found }),
                Err(cause) => return Err(VerifyError::Read { model, file: name, cause }),
            }
        }
        Ok(folder)
    }

    fn status_of(&self, model: &Model) -> ModelStatus {
        let path = self.find(model);
        ModelStatus {
            name: model.name.clone(),
            purpose: model.purpose,
            about: model.about.clone(),
            licence: model.licence.clone(),
            optional: model.optional,
            present: path.is_some(),
            path,
            bytes: model.bytes(),
        }
    }
}

fn has_expected_length(path: &Path, file: &ModelFile) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == file.bytes)
}
