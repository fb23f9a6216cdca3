//! Loads the local models: downloads the missing ones if that is set, and waits until their files are there. An endpoint may take the
//! place of each.

use actix_web::rt::task::JoinHandle;
use actors::ingest::model::{
    SpeechModelContext, load_embedding_endpoint, load_embedding_model, load_speech_model,
};
use actors::service::Service;
use inference::models::{self, Catalogue, Model, Purpose, Store};
use tracing::{info, warn};

use super::embedding::{EmbeddingSource, EmbeddingSources};
use crate::settings::Settings;

/// Starts the download of the models that are missing, if that is set, and the loading of those that are used.
pub fn load_models(
    settings: &Settings,
    service: &Service,
    embedding: EmbeddingSources,
) -> Vec<JoinHandle<()>> {
    let (store, catalogue) = (Store::new(settings.models_folder()), Catalogue::built_in());
    // An endpoint transcribes instead of the local model.
    let is_local = settings.ai.transcription.url.is_none();
    let speech = if is_local { catalogue.for_purpose(Purpose::Speech) } else { Vec::new() };
    let mut tasks = Vec::new();
    for model in settings.embedding_model().into_iter().chain(speech.first()) {
        // The tasks below wait until the files are there, so a model that an operator puts there is loaded too.
        if settings.models.auto && store.find(model).is_none() {
            tasks.push(actix_web::rt::spawn(fetch_model(store.clone(), model.clone())));
        }
    }
    let indexing = service.indexing.clone();
    // The former one first: it is searched until the other one has embedded everything.
    for source in embedding.former.into_iter().chain(embedding.wanted) {
        let indexed = source.dimensions();
        let indexing = indexing.clone();
        tasks.push(match source {
            EmbeddingSource::Local(model) => {
                actix_web::rt::spawn(load_embedding_model(indexing, store.clone(), *model))
            }
            EmbeddingSource::Endpoint { endpoint, settings, known } => {
                actix_web::rt::spawn(load_embedding_endpoint(indexing, endpoint, *settings, known, indexed))
            }
        });
    }
    if is_local {
        let context = SpeechModelContext {
            core: service.indexing.core.clone(),
            speech: service.speech.clone(),
            job_signal: service.context.job_signal.clone(),
        };
        tasks.push(actix_web::rt::spawn(load_speech_model(context, store, speech)));
    }
    tasks
}

async fn fetch_model(store: Store, model: Model) {
    match models::pull(&store, &model, &|_| {}).await {
        Ok(_) => info!(model.name, "fetched the model"),
        Err(error) => {
            warn!(%error, model.name, "could not fetch the model; `carrel models pull` tries again")
        }
    }
}
