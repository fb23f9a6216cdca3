//! The catalogue of supported models, from `models.toml`; compiled in.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use crate::embedder::EmbeddingProfile;

static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is compiled in, and a test parses it")]
    toml::from_str(include_str!("models.toml")).expect("models.toml matches the types of the catalogue")
});

/// All models that the server can use.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(rename = "model")]
    models: Vec<Model>,
}

/// A model with its purpose and its files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Name of the model and of its folder.
    pub name: String,
    /// The part of the server that uses it.
    pub purpose: Purpose,
    /// What the model does, in words for the operator.
    pub about: String,
    /// SPDX name of its licence.
    pub licence: String,
    /// What an embedding model needs beside its files; `None` for other models.
    #[serde(default)]
    pub embedding: Option<EmbeddingProfile>,
    /// Base URL of its files; the name of a file is appended.
    pub home: String,
    /// Whether it is downloaded only when a setting or a command names it.
    #[serde(default)]
    pub optional: bool,
    /// Packages of the Python index that together contain the same files.
    #[serde(default, rename = "package")]
    pub packages: Vec<Package>,
    /// The files in its folder.
    #[serde(rename = "file")]
    pub files: Vec<ModelFile>,
    /// Files that are downloaded instead and converted to its files.
    #[serde(default, rename = "source")]
    pub sources: Vec<ModelFile>,
}

/// The purpose of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Embedding of passages and queries.
    Embedding,
    /// Transcription of recordings. If it has sources, they are a Whisper model of CTranslate2.
    Speech,
}

/// One file of a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Name in the folder of the model.
    pub name: String,
    /// Length in bytes that the content must have.
    pub bytes: u64,
    /// SHA-256 that the content must have before it is used.
    pub sha256: Digest,
    /// The pieces into which packages split it, in order; empty if they contain it whole.
    #[serde(default)]
    pub pieces: Vec<Piece>,
}

/// A piece of a file.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// Length in bytes that the content must have.
    pub bytes: u64,
    /// SHA-256 that the content must have before it is used.
    pub sha256: Digest,
}

/// A package of the Python index, at one version.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name of the package in the index.
    pub name: String,
    /// The version that is downloaded.
    pub version: String,
    /// Expected SHA-256 of the downloaded archive.
    pub sha256: Digest,
}

impl Catalogue {
    /// Returns the catalogue that is compiled in.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Returns all models in the order of `models.toml`.
    #[must_use]
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// Returns the model with this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name)
    }

    /// Returns all models for a purpose, the default first.
    #[must_use]
    pub fn for_purpose(&self, purpose: Purpose) -> Vec<Model> {
        self.models.iter().filter(|model| model.purpose == purpose).cloned().collect()
    }
}

impl Model {
    /// Returns the files to download: the sources, or else the files.
    #[must_use]
    pub fn downloads(&self) -> &[ModelFile] {
        if self.sources.is_empty() { &self.files } else { &self.sources }
    }

    /// Returns the total length of the files in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

#[cfg(test)]
impl Catalogue {
    /// Returns a model, to be changed by a test.
    pub(super) fn model_mut(&mut self, name: &str) -> &mut Model {
        self.models.iter_mut().find(|model| model.name == name).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, path::Path};

    use super::*;
    use crate::embedder::Calibration;

    #[test]
    fn built_in_catalogue_is_valid() {
        let catalogue = Catalogue::built_in();

        assert_eq!(catalogue.for_purpose(Purpose::Embedding)[0].name, "all-minilm-l6-v2");
        assert_eq!(catalogue.for_purpose(Purpose::Speech)[0].name, "whisper-base");
        let minilm = catalogue.get("all-minilm-l6-v2").unwrap().embedding.as_ref().unwrap();
        assert_eq!(minilm.calibration, Some(Calibration::STANDARD));
        let e5 = catalogue.get("multilingual-e5-small").unwrap().embedding.as_ref().unwrap();
        assert_eq!((e5.query_prefix.as_str(), e5.passage_prefix.as_str()), ("query: ", "passage: "));
        let names: HashSet<&str> = catalogue.models().iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names.len(), catalogue.models().len());
        for model in catalogue.models() {
            assert!(model.home.starts_with("https://") && !model.home.ends_with('/'));
            assert!(!model.files.is_empty());
            assert_eq!(model.embedding.is_some(), model.purpose == Purpose::Embedding);
            let files = model.files.iter().chain(&model.sources).map(|file| &file.name);
            for name in files.chain([&model.name]) {
                assert_eq!(Path::new(name).file_name().unwrap(), name.as_str(), "a plain name");
                assert!(!name.starts_with('.'), "names with a leading dot are reserved for the store");
            }
        }
    }
}
