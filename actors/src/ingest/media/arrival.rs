//! The speech model arrives: until its files are there recordings wait; then they are caught up by themselves.

use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};

use super::NO_MODEL;
use crate::adapters::transcriber::Whisper;
use crate::app::App;
use crate::ingest::queue;
use crate::models::{Model, Store};

const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Waits for one of the models, the first of them for preference, and wakes the recordings that wait for it.
pub async fn await_model(app: App, store: Store, models: Vec<Model>) {
    let mut told = false;
    let (model, folder) = loop {
        match models.iter().find_map(|model| Some((model, store.find(model)?))) {
            Some(found) => break found,
            None if told => {}
            None => {
                told = true;
                warn!("the speech model is not there yet: recordings wait until it is");
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    };
    app.speech.set(Arc::new(Whisper::new(&model.name, &folder)));
    info!(model.name, "the speech model is there: recordings are transcribed");
    match queue::end_wait(app.db.write(), NO_MODEL, app.clock.now()).await {
        Ok(()) => app.ingest.wake(),
        Err(error) => warn!(%error, "could not wake the recordings that wait; they look by themselves"),
    }
}
