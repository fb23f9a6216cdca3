//! The speech model arrives: until its files are there recordings wait; then they are caught up by themselves.

use std::sync::Arc;

use inference::models::{Model, Store};
use inference::transcriber::Whisper;
use tracing::{info, warn};

use super::found;
use crate::ingest::context::IngestContext;
use crate::ingest::media::NO_MODEL;


/// Waits for one of the models, the first of them for preference, and wakes the recordings that wait for it.
pub async fn arrives(ctx: IngestContext, store: Store, models: Vec<Model>) {
    let meanwhile = "the speech model is not there yet: recordings wait until it is";
    let (model, folder) = found(&store, &models, meanwhile).await;
    ctx.speech.set_transcriber(Arc::new(Whisper::new(&model.name, &folder)));
    info!(model.name, "the speech model is there: recordings are transcribed");
    match jobs::end_wait(ctx.core.db.write(), NO_MODEL, ctx.core.clock.now()).await {
        Ok(()) => ctx.job_signal.notify(),
        Err(error) => warn!(%error, "could not wake the recordings that wait; they look by themselves"),
    }
}
