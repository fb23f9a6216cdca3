//! Loads the speech model. Until then recordings wait; afterwards their jobs are due.

use std::sync::Arc;

use inference::models::{Model, Store};
use inference::transcriber::{SpeechService, Whisper};
use jobs::JobSignal;
use library::context::CoreContext;
use tracing::{info, warn};
use values::id::UserId;

use super::await_model;
use crate::ingest::media::MODEL_MISSING_REASON;

/// The components that the loading of the speech model changes. Clones share them.
#[derive(Clone)]
pub struct SpeechModelContext {
    /// The rows of jobs, and the clock.
    pub core: CoreContext,
    /// The service that transcribes, to which the loaded model is given.
    pub speech: SpeechService<UserId>,
    /// Tells the worker that a job may be due.
    pub job_signal: JobSignal,
}

/// Waits for the files of one of the models, the first of them by preference, and makes the jobs due that wait for it.
pub async fn load_speech_model(ctx: SpeechModelContext, store: Store, models: Vec<Model>) {
    let (model, folder) = await_model(&store, &models, "recordings wait").await;
    ctx.speech.set_transcriber(Arc::new(Whisper::new(&model.name, &folder)));
    info!(model.name, "speech model loaded; transcription enabled");
    match jobs::end_wait(ctx.core.db.write(), MODEL_MISSING_REASON, ctx.core.clock.now()).await {
        Ok(()) => ctx.job_signal.notify(),
        Err(error) => {
            warn!(%error, "could not make the jobs of waiting recordings due; they run when their delays end")
        }
    }
}
