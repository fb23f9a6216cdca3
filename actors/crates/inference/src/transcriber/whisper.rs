//! The local model: Whisper by whisper.cpp, on a thread of its own that steps back for whoever waits for an answer.
//!
//! The model is read when the first window comes and let go of when the recording is over, so a service that hears
//! nothing holds nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use whisper_rs::{
    FullParams, SamplingStrategy, WhisperContext, WhisperContextParameters, WhisperError, WhisperState,
    get_lang_str, install_logging_hooks,
};

use super::{Heard, SAMPLE_RATE_HZ, Said, TranscribeError, Transcriber, cleaned};
use crate::priority::lower_thread_priority;

/// Whisper hears half a minute at once; a second is left for what it adds at the end.
const LONGEST: usize = 29 * SAMPLE_RATE_HZ as usize;
/// What is shorter is followed by silence: Whisper takes nothing shorter.
const SHORTEST: usize = SAMPLE_RATE_HZ as usize + SAMPLE_RATE_HZ as usize / 10;
/// Half of the cores, and never more than this: the model's threads wait for each other by spinning, so on a machine that
/// has other things to do each of them wastes what the others wait for.
const MOST_THREADS: usize = 4;
/// Of the half minute only what is there is looked at: in places of 20 ms.
const PLACE: usize = SAMPLE_RATE_HZ as usize / 50;
/// So many places behind it are looked at too.
const BEHIND: usize = 64;
/// Places that are looked at in any case.
const LEAST: usize = 256;
/// Places of the half minute.
const MOST: usize = 1_500;
/// A language that is told with less than this may be another one.
const CERTAIN: f32 = 0.7;

/// See the file's head.
pub struct Whisper {
    name: String,
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    threads: usize,
    loaded: Mutex<Option<Loaded>>,
}

struct Loaded {
    context: WhisperContext,
    /// What windows are heard with, once one is.
    state: Option<WhisperState>,
    /// The state heard a window, and would look at no more of another than of that.
    used: bool,
}

impl Whisper {
    /// The model in a folder. Reads nothing yet.
    pub fn new(name: &str, folder: &Path) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (cores / 2).clamp(1, MOST_THREADS);
        let path = folder.join("ggml-model.bin");
        Self { name: name.to_owned(), inner: Arc::new(Inner { path, threads, loaded: Mutex::new(None) }) }
    }
}

impl Transcriber for Whisper {
    fn model(&self) -> &str {
        &self.name
    }

    fn longest(&self) -> usize {
        LONGEST
    }

    fn pauses(&self) -> bool {
        false
    }

    fn hear(
        &self,
        window: Vec<i16>,
        language: Option<String>,
    ) -> BoxFuture<'static, Result<Heard, TranscribeError>> {
        let (inner, (say, said)) = (self.inner.clone(), oneshot::channel());
        let work = move || {
            lower_thread_priority();
            // Nobody listens any more when the service is stopping.
            let _ = say.send(inner.hear(&window, language.as_deref()));
        };
        let thread = std::thread::Builder::new().name("speech".to_owned()).spawn(work);
        async move {
            thread.map_err(|_| TranscribeError::Model)?;
            said.await.map_err(|_| TranscribeError::Model)?.map_err(|cause| {
                tracing::warn!(%cause, "the speech model failed");
                TranscribeError::Model
            })
        }
        .boxed()
    }

    fn rest(&self) {
        // A window that is still being heard keeps the model until the next recording is over.
        if let Ok(mut loaded) = self.inner.loaded.try_lock() {
            *loaded = None;
        }
    }
}

impl Inner {
    fn hear(&self, window: &[i16], language: Option<&str>) -> Result<Heard, WhisperError> {
        let mut loaded = self.loaded();
        let loaded = match &mut *loaded {
            Some(there) => there,
            empty => empty.insert(load(&self.path)?),
        };
        let mut samples: Vec<f32> = window.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        samples.resize(samples.len().max(SHORTEST), 0.0);
        let (language, certain) = match language {
            _ if !loaded.context.is_multilingual() => ("en".to_owned(), true),
            Some(known) => (known.to_owned(), true),
            None => loaded.detect(&samples, self.threads)?,
        };
        loaded.used = true;
        let state = loaded.state()?;
        state.full(self.parameters(&language, samples.len()), &samples)?;
        #[expect(clippy::cast_precision_loss, reason = "a window is short")]
        let length = window.len() as f64 / f64::from(SAMPLE_RATE_HZ);
        let segments = state.as_iter().filter_map(|segment| {
            let text = cleaned(&segment.to_str_lossy().ok()?)?;
            #[expect(clippy::cast_precision_loss, reason = "a window is short")]
            let at = |hundredths: i64| (hundredths as f64 / 100.0).clamp(0.0, length);
            Some(Said { start: at(segment.start_timestamp()), end: at(segment.end_timestamp()), text })
        });
        Ok(Heard { segments: segments.collect(), language: Some(language), certain })
    }

    fn parameters<'a>(&self, language: &'a str, samples: usize) -> FullParams<'a, 'static> {
        let mut how = FullParams::new(SamplingStrategy::Greedy { best_of: 2 });
        how.set_n_threads(i32::try_from(self.threads).unwrap_or(1));
        how.set_language(Some(language));
        let places = (samples / PLACE + BEHIND).clamp(LEAST, MOST);
        how.set_audio_ctx(i32::try_from(places).unwrap_or_default());
        // A window that begins with the text of the one before may repeat it for ever.
        how.set_no_context(true);
        how.set_suppress_blank(true);
        how.set_suppress_nst(true);
        how.set_print_special(false);
        how.set_print_progress(false);
        how.set_print_realtime(false);
        how.set_print_timestamps(false);
        how
    }

    fn loaded(&self) -> MutexGuard<'_, Option<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn load(path: &Path) -> Result<Loaded, WhisperError> {
    static QUIET: Once = Once::new();
    // whisper.cpp would write what it hears to the standard error.
    QUIET.call_once(install_logging_hooks);
    let context = WhisperContext::new_with_params(path, WhisperContextParameters::default())?;
    Ok(Loaded { context, state: None, used: false })
}

impl Loaded {
    fn state(&mut self) -> Result<&mut WhisperState, WhisperError> {
        Ok(match &mut self.state {
            Some(state) => state,
            none => none.insert(self.context.create_state()?),
        })
    }

    /// The language, and whether it is certain.
    fn detect(&mut self, samples: &[f32], threads: usize) -> Result<(String, bool), WhisperError> {
        if self.used {
            // Let go of first, so that there are never two.
            (self.state, self.used) = (None, false);
        }
        let state = self.state()?;
        state.pcm_to_mel(samples, threads)?;
        let (language, chances) = state.lang_detect(0, threads)?;
        let chance = usize::try_from(language).ok().and_then(|place| chances.get(place)).copied();
        let name = get_lang_str(language).unwrap_or("en");
        Ok((name.to_owned(), chance.is_some_and(|chance| chance >= CERTAIN)))
    }
}
