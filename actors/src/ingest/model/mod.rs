//! Loads models once their files are there. The server starts without them; the documents that waited for a model are
//! processed when it is loaded.

mod configured_model;
mod embedding;
mod indexed_models;
mod speech;

use std::path::PathBuf;
use std::time::Duration;

use inference::models::{Model, Store};
use tracing::warn;

pub use configured_model::record_configured_model;
pub use embedding::{find_measurement, load_embedding_endpoint, load_embedding_model, measure_endpoint};
pub use indexed_models::{IndexedEndpoint, IndexedModel, IndexedModels};
pub use speech::{SpeechModelContext, load_speech_model};

/// Interval of looks for the files of a model, which another process may download.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Waits until the files of one of the models are there, the first of them by preference. Logs once that it waits, with the effect.
async fn await_model(store: &Store, models: &[Model], effect: &'static str) -> (Model, PathBuf) {
    let mut is_logged = false;
    loop {
        if let Some(found) = models.iter().find_map(|model| Some((model.clone(), store.find(model)?))) {
            return found;
        }
        if !is_logged {
            is_logged = true;
            let name = models.first().map(|model| model.name.as_str());
            warn!(model.name = name, effect, "a model is not installed yet");
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}
