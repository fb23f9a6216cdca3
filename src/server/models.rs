//! The models come: fetched where that is set, and waited for.

use actix_web::rt::task::JoinHandle;
use actors::context::OperationContext;
use actors::ingest::model::{embedding, speech};
use inference::models::{self, Catalogue, Model, Purpose, Store};
use tracing::{info, warn};

use crate::settings::Settings;

/// Fetches the models that are missing, where that is set, and waits for those that are used.
pub fn await_models(settings: &Settings, ctx: &OperationContext, wanted: Option<Model>) -> Vec<JoinHandle<()>> {
    let (store, catalogue) = (Store::new(settings.model_folders()), Catalogue::built_in());
    // An endpoint hears in the local model's place.
    let local = settings.ai.transcription.url.is_none();
    let hearing = if local { catalogue.for_purpose(Purpose::Speech) } else { Vec::new() };
    let mut waiting = Vec::new();
    for model in wanted.iter().chain(hearing.first()) {
        if settings.models.auto && store.find(model).is_none() {
            waiting.push(actix_web::rt::spawn(fetch_model(store.clone(), model.clone())));
        }
    }
    if let Some(model) = wanted {
        waiting.push(actix_web::rt::spawn(embedding::arrives(ctx.clone(), store.clone(), model)));
    }
    if local {
        waiting.push(actix_web::rt::spawn(speech::arrives(ctx.clone(), store, hearing)));
    }
    waiting
}

async fn fetch_model(store: Store, model: Model) {
    match models::pull(&store, &model, &|_| {}).await {
        Ok(_) => info!(model.name, "fetched the model"),
        Err(error) => {
            warn!(%error, model.name, "could not fetch the model; `carrel models pull` tries again")
        }
    }
}
