//! The local model: Whisper, run by whisper.cpp on a thread of lower priority.
//!
//! The model is loaded for the first window of a recording and unloaded after the last, so an idle server has none in memory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use concurrency::lower_thread_priority;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use whisper_rs::{
    FullParams, SamplingStrategy, WhisperContext, WhisperContextParameters, WhisperError, WhisperState,
    get_lang_str, install_logging_hooks,
};

use super::{SAMPLE_RATE_HZ, Segment, TranscribeError, Transcriber, Transcription, clean_segment};
use crate::BACKGROUND_NICE;

/// The model processes 30 s at once; a second is left for the padding that it appends.
const MAX_WINDOW_SAMPLES: usize = 29 * SAMPLE_RATE_HZ as usize;
/// Shorter windows are padded with silence, because whisper.cpp refuses them.
const MIN_WINDOW_SAMPLES: usize = SAMPLE_RATE_HZ as usize + SAMPLE_RATE_HZ as usize / 10;
/// The model uses half of the cores, and at most this many: its threads wait for each other by spinning, so on a busy machine
/// each further thread wastes the time that the others need.
const MAX_THREADS: usize = 4;
/// Samples of one position of the audio context, which is 20 ms long. Only the positions that a window fills are encoded.
const SAMPLES_PER_POSITION: usize = SAMPLE_RATE_HZ as usize / 50;
/// Positions after the end of the window that are encoded too.
const MARGIN_POSITIONS: usize = 64;
const MIN_POSITIONS: usize = 256;
/// Number of positions of 30 s, the whole audio context.
const MAX_POSITIONS: usize = 1_500;
/// A detected language is certain from this probability on.
const MIN_CERTAIN_PROBABILITY: f32 = 0.7;

/// A Whisper model in a local folder.
pub struct Whisper {
    name: String,
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    threads: usize,
    loaded: Mutex<Option<LoadedModel>>,
}

struct LoadedModel {
    context: WhisperContext,
    /// Created for the first window.
    state: Option<WhisperState>,
    /// The state has transcribed a window. Language detection with it would look at no more positions than that window had.
    is_state_used: bool,
}

impl Whisper {
    /// Creates a transcriber for the model in a folder. The model is not loaded yet.
    pub fn new(name: &str, folder: &Path) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (cores / 2).clamp(1, MAX_THREADS);
        let path = folder.join("ggml-model.bin");
        Self { name: name.to_owned(), inner: Arc::new(Inner { path, threads, loaded: Mutex::new(None) }) }
    }
}

impl Transcriber for Whisper {
    fn model(&self) -> &str {
        &self.name
    }

    fn max_window_samples(&self) -> usize {
        MAX_WINDOW_SAMPLES
    }

    fn is_budgeted(&self) -> bool {
        false
    }

    fn transcribe(
        &self,
        window: Vec<i16>,
        language: Option<String>,
    ) -> BoxFuture<'static, Result<Transcription, TranscribeError>> {
        let (inner, (sender, receiver)) = (self.inner.clone(), oneshot::channel());
        let work = move || {
            lower_thread_priority(BACKGROUND_NICE);
            // The receiver is gone when the server is stopping.
            let _ = sender.send(inner.transcribe(&window, language.as_deref()));
        };
        // A separate thread, because a thread of the runtime would keep the lower priority for its next task.
        let thread = std::thread::Builder::new().name("speech".to_owned()).spawn(work);
        async move {
            thread.map_err(|_| TranscribeError::Model)?;
            receiver.await.map_err(|_| TranscribeError::Model)?.map_err(|cause| {
                tracing::warn!(%cause, "the speech model failed");
                TranscribeError::Model
            })
        }
        .boxed()
    }

    fn unload(&self) {
        // A window that is still being transcribed keeps the model until the next recording has ended.
        if let Ok(mut loaded) = self.inner.loaded.try_lock() {
            *loaded = None;
        }
    }
}

impl Inner {
    fn transcribe(&self, window: &[i16], language: Option<&str>) -> Result<Transcription, WhisperError> {
        let mut loaded = self.loaded();
        let loaded = match &mut *loaded {
            Some(model) => model,
            none => none.insert(load(&self.path)?),
        };
        let mut samples: Vec<f32> = window.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        samples.resize(samples.len().max(MIN_WINDOW_SAMPLES), 0.0);
        let (language, is_language_certain) = match language {
            _ if !loaded.context.is_multilingual() => ("en".to_owned(), true),
            Some(known) => (known.to_owned(), true),
            None => loaded.detect_language(&samples, self.threads)?,
        };
        loaded.is_state_used = true;
        let state = loaded.state()?;
        state.full(self.parameters(&language, samples.len()), &samples)?;
        #[expect(clippy::cast_precision_loss, reason = "a window is short")]
        let seconds = window.len() as f64 / f64::from(SAMPLE_RATE_HZ);
        let segments = state.as_iter().filter_map(|segment| {
            let text = clean_segment(&segment.to_str_lossy().ok()?)?;
            #[expect(clippy::cast_precision_loss, reason = "a window is short")]
            let clamp = |hundredths: i64| (hundredths as f64 / 100.0).clamp(0.0, seconds);
            Some(Segment {
                start: clamp(segment.start_timestamp()),
                end: clamp(segment.end_timestamp()),
                text,
            })
        });
        let segments = segments.collect();
        Ok(Transcription { segments, language: Some(language), is_language_certain })
    }

    fn parameters<'a>(&self, language: &'a str, samples: usize) -> FullParams<'a, 'static> {
        let mut parameters = FullParams::new(SamplingStrategy::Greedy { best_of: 2 });
        parameters.set_n_threads(i32::try_from(self.threads).unwrap_or(1));
        parameters.set_language(Some(language));
        let positions =
            (samples / SAMPLES_PER_POSITION + MARGIN_POSITIONS).clamp(MIN_POSITIONS, MAX_POSITIONS);
        parameters.set_audio_ctx(i32::try_from(positions).unwrap_or_default());
        // With the text of the previous window as context, the model may repeat it endlessly.
        parameters.set_no_context(true);
        parameters.set_suppress_blank(true);
        parameters.set_suppress_nst(true);
        // Otherwise whisper.cpp prints its progress and results.
        parameters.set_print_special(false);
        parameters.set_print_progress(false);
        parameters.set_print_realtime(false);
        parameters.set_print_timestamps(false);
        parameters
    }

    fn loaded(&self) -> MutexGuard<'_, Option<LoadedModel>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load(path: &Path) -> Result<LoadedModel, WhisperError> {
    static LOGGING_HOOKS: Once = Once::new();
    // Without the hooks whisper.cpp writes to stderr.
    LOGGING_HOOKS.call_once(install_logging_hooks);
    let context = WhisperContext::new_with_params(path, WhisperContextParameters::default())?;
    Ok(LoadedModel { context, state: None, is_state_used: false })
}

impl LoadedModel {
    fn state(&mut self) -> Result<&mut WhisperState, WhisperError> {
        Ok(match &mut self.state {
            Some(state) => state,
            none => none.insert(self.context.create_state()?),
        })
    }

    /// Detects the language, and whether it is certain.
    fn detect_language(&mut self, samples: &[f32], threads: usize) -> Result<(String, bool), WhisperError> {
        if self.is_state_used {
            // Dropped before a new one is created, so that there are never two in memory.
            (self.state, self.is_state_used) = (None, false);
        }
        let state = self.state()?;
        state.pcm_to_mel(samples, threads)?;
        let (language, probabilities) = state.lang_detect(0, threads)?;
        let probability = usize::try_from(language).ok().and_then(|id| probabilities.get(id)).copied();
        let name = get_lang_str(language).unwrap_or("en");
        Ok((name.to_owned(), probability.is_some_and(|probability| probability >= MIN_CERTAIN_PROBABILITY)))
    }
}
