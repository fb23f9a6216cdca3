//! `carrel models`: the local models, which are required for search by meaning and for transcripts.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use indicatif::{HumanBytes, ProgressBar};
use inference::models::{Catalogue, Model, ModelStatus, Progress, Store, import, pull};
use serde::Serialize;

use super::failure::Failure;
use super::output::{CommandOutput, table};
use super::{folder, progress};
use crate::settings::Settings;

/// A subcommand of `carrel models`.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// Fetch the missing models
    Pull(PullArgs),
    /// List the models with their paths
    List,
    /// Verify the digests of the models
    Verify,
    /// Import models that were downloaded elsewhere, from a folder or an archive
    Import(ModelImportArgs),
}

/// A model to fetch.
#[derive(Debug, Args)]
pub struct PullArgs {
    /// Model to fetch (default: all that the settings use)
    name: Option<String>,
}

/// Where models are imported from.
#[derive(Debug, Args)]
pub struct ModelImportArgs {
    /// A folder, or a zip, wheel, tar or tar.gz file
    path: PathBuf,
}

pub async fn run(command: ModelsCommand, settings: &Settings) -> Result<CommandOutput, Failure> {
    let store = Store::new(settings.models_folder());
    match command {
        ModelsCommand::Pull(PullArgs { name }) => {
            folder::create(settings)?;
            for model in models_to_fetch(settings, name.as_deref())? {
                fetch(&store, model).await?;
            }
            list(settings, &store)
        }
        ModelsCommand::List => list(settings, &store),
        ModelsCommand::Verify => verify(settings, &store),
        ModelsCommand::Import(ModelImportArgs { path }) => {
            folder::create(settings)?;
            import(&store, Catalogue::built_in(), &path).map_err(|cause| Failure::Models(cause.into()))?;
            list(settings, &store)
        }
    }
}

/// The model of this name, or all that the settings use.
fn models_to_fetch(settings: &Settings, name: Option<&str>) -> Result<Vec<&'static Model>, Failure> {
    let catalogue = Catalogue::built_in();
    match name {
        None => Ok(catalogue.models().iter().filter(|model| settings.uses_model(model)).collect()),
        Some(name) => match catalogue.get(name) {
            Some(model) => Ok(vec![model]),
            None => Err(Failure::Models(
                format!("no model is named `{name}`; `carrel models list` shows the models").into(),
            )),
        },
    }
}

async fn fetch(store: &Store, model: &Model) -> Result<(), Failure> {
    let bar = progress::bytes(model.name.clone(), Some(model.bytes()));
    let fetched = pull(store, model, &|progress| show_progress(&bar, &model.name, progress)).await;
    bar.finish_and_clear();
    fetched.map(drop).map_err(|cause| Failure::Models(cause.into()))
}

fn show_progress(bar: &ProgressBar, model: &str, progress: Progress<'_>) {
    match progress {
        Progress::Trying(source) => bar.println(format!("fetching {model} from {source}")),
        Progress::Received { file, bytes, of } => {
            bar.set_message(file.to_owned());
            bar.set_length(of);
            bar.set_position(bytes);
        }
        Progress::SourceFailed(failure) => bar.println(failure.to_string()),
    }
}

fn list(settings: &Settings, store: &Store) -> Result<CommandOutput, Failure> {
    let catalogue = Catalogue::built_in();
    let mut used = catalogue.models().iter().filter(|model| settings.uses_model(model));
    let is_complete = used.all(|model| store.find(model).is_some());
    CommandOutput::of(&ModelList { models: store.status(catalogue), is_complete })
}

#[derive(Serialize)]
struct ModelList {
    models: Vec<ModelStatus>,
    /// Whether all models that the settings use are present.
    #[serde(skip)]
    is_complete: bool,
}

impl fmt::Display for ModelList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |model: &ModelStatus| {
            let place =
                model.path.as_ref().map_or_else(|| "missing".to_owned(), |path| path.display().to_string());
            let size = HumanBytes(model.bytes).to_string();
            [model.name.clone(), size, model.licence.clone(), model.about.clone(), place]
        };
        let rows: Vec<_> = self.models.iter().map(row).collect();
        f.write_str(&table(["MODEL", "SIZE", "LICENCE", "PURPOSE", "PATH"], &rows))?;
        if self.is_complete {
            return Ok(());
        }
        f.write_str("`carrel models pull` fetches the missing models")
    }
}

fn verify(settings: &Settings, store: &Store) -> Result<CommandOutput, Failure> {
    let verified = |model: &Model| {
        let fault = store.verify(model).err();
        let fault = fault.map(|broken| format!("{broken}; run `carrel models pull {}`", model.name));
        VerifiedModel { name: model.name.clone(), ok: fault.is_none(), fault }
    };
    // A model that the settings do not use counts only once it was fetched.
    let used = |model: &&Model| settings.uses_model(model) || store.find(model).is_some();
    let models: Vec<_> = Catalogue::built_in().models().iter().filter(used).map(verified).collect();
    let report = ModelReport { ok: models.iter().all(|model| model.ok), models };
    Ok(CommandOutput::of(&report)?.with_success(report.ok))
}

#[derive(Serialize)]
struct ModelReport {
    ok: bool,
    models: Vec<VerifiedModel>,
}

#[derive(Serialize)]
struct VerifiedModel {
    name: String,
    ok: bool,
    fault: Option<String>,
}

impl fmt::Display for ModelReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.models.iter().try_for_each(|model| match &model.fault {
            None => writeln!(f, "{}: verified", model.name),
            Some(fault) => writeln!(f, "{}: {fault}", model.name),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_model_is_reported_with_the_command_that_fetches_it() {
        let folder = tempfile::tempdir().unwrap();

        let settings = Settings::load(None, std::iter::empty()).unwrap();
        let output = verify(&settings, &Store::new(folder.path().to_owned())).unwrap();

        let expected = "whisper-base` is not installed; run `carrel models pull whisper-base`";
        assert!(format!("{output:?}").contains(expected), "{output:?}");
        assert!(!output.is_good());
    }
}
