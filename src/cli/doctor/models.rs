//! The local models: whether each one that is used exists and is complete.

use inference::models::{Catalogue, Model, Purpose, Store};

use super::check::Check;
use crate::settings::Settings;

const NAME: &str = "models";

/// Checks the digests of the models that are used: a damaged model is worse than a missing one.
pub fn check(settings: &Settings, server_running: bool) -> Vec<Check> {
    let store = Store::new(settings.models_folder());
    let is_used = |model: &&Model| settings.uses_model(model) || store.find(model).is_some();
    let models = Catalogue::built_in().models().iter().filter(is_used);
    // The server downloads the missing models at its start.
    let advice = if settings.models.auto && server_running {
        "the server is downloading it; if the log says that the download failed, run `carrel models pull`"
    } else {
        "run `carrel models pull`"
    };
    models.map(|model| check_model(&store, model, advice)).collect()
}

fn check_model(store: &Store, model: &Model, advice_if_missing: &str) -> Check {
    match (store.find(model), store.verify(model)) {
        (None, _) => {
            let found = format!("{} is missing: {}", model.name, consequence_of_absence(model));
            Check::warning(NAME, found, advice_if_missing)
        }
        (Some(_), Ok(place)) => Check::good(NAME, format!("{} is in {}", model.name, place.display())),
        // `pull` verifies the model too, and replaces it.
        (Some(_), Err(broken)) => {
            let advice = format!("run `carrel models pull {}`", model.name);
            Check::wrong(NAME, broken.to_string(), advice)
        }
    }
}

fn consequence_of_absence(model: &Model) -> &'static str {
    match model.purpose {
        Purpose::Embedding => "search matches words only",
        Purpose::Speech => "recordings wait until it is installed",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::doctor::check::CheckState;

    const CATALOGUE: &str = r#"
        [[model]]
        name = "small"
        purpose = "embedding"
        about = "a test"
        licence = "MIT"
        home = "https://models.example/small"
        [[model.file]]
        name = "words"
        bytes = 5
        sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
    "#;

    #[test]
    fn damaged_model_is_wrong_with_one_advice() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("small")).unwrap();
        fs::write(folder.path().join("small/words"), "heron").unwrap();
        let catalogue: Catalogue = toml::from_str(CATALOGUE).unwrap();

        let store = Store::new(folder.path().to_owned());
        let check = check_model(&store, catalogue.get("small").unwrap(), "run something else");

        assert_eq!(check.state, CheckState::Wrong);
        assert!(check.found.ends_with(", which is not the expected one"), "{}", check.found);
        assert_eq!(check.advice.as_deref(), Some("run `carrel models pull small`"));
    }
}
