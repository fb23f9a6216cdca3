//! The folders where models lie, and what is in them.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{Catalogue, Digest, Model, ModelFile, Purpose};

/// The folders that are searched, in order. New models go into the first.
#[derive(Clone, Debug)]
pub struct Store {
    folders: Vec<PathBuf>,
}

/// What there is of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelStatus {
    /// Its name.
    pub name: String,
    /// The part of the service that uses it.
    pub purpose: Purpose,
    /// What it does, in words for a person.
    pub about: String,
    /// SPDX name of its licence.
    pub licence: String,
    /// Whether it is fetched only when it is asked for by its name.
    pub optional: bool,
    /// Whether it can be used.
    pub present: bool,
    /// Where it lies.
    pub path: Option<PathBuf>,
    /// Length of its files: on disk, or to be fetched.
    pub bytes: u64,
}

/// Why a model is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// It is in none of the folders, or not whole.
    #[error("the model `{0}` is not there")]
    Missing(String),
    /// A file cannot be read.
    #[error("could not read {file} of the model `{model}`")]
    Read {
        /// The model's name.
        model: String,
        /// The file's name.
        file: String,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// A file has the right length but other bytes.
    #[error("the SHA-256 of {file} of the model `{model}` is {found}, which is not the expected one")]
    Digest {
        /// The model's name.
        model: String,
        /// The file's name.
        file: String,
        /// What it is instead.
        found: Digest,
    },
}

impl Store {
    /// A store over these folders, which need not exist. The first is where new models go.
    #[must_use]
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    /// Where new models go.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.folders.first().map(PathBuf::as_path)
    }

    /// The folder of a model that is there with all its files in their lengths. Reads no file: see [`Store::verify`].
    #[must_use]
    pub fn find(&self, model: &Model) -> Option<PathBuf> {
        let places = self.folders.iter().map(|folder| folder.join(&model.name));
        places
            .into_iter()
            .find(|place| model.files.iter().all(|file| is_whole(&place.join(&file.name), file)))
    }

    /// What there is of each model of a catalogue.
    #[must_use]
    pub fn status(&self, catalogue: &Catalogue) -> Vec<ModelStatus> {
        catalogue.models().iter().map(|model| self.status_of(model)).collect()
    }

    /// Reads all files of a model and compares their digests. Blocks for about a second for each gigabyte.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or a file is not what it should be.
    pub fn verify(&self, model: &Model) -> Result<PathBuf, Broken> {
        let place = self.find(model).ok_or_else(|| Broken::Missing(model.name.clone()))?;
        for file in &model.files {
            let (model, name) = (model.name.clone(), file.name.clone());
            match Digest::of(&place.join(&file.name)) {
                Ok(found) if found == file.sha256 => {}
                Ok(found) => return Err(Broken::Digest { model, file: name, found }),
                Err(cause) => return Err(Broken::Read { model, file: name, cause }),
            }
        }
        Ok(place)
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

fn is_whole(path: &Path, file: &ModelFile) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == file.bytes)
}
