//! Speech to timed text: the trait, a local model, and an HTTP service that may take its place.

mod endpoint;
mod fair_mutex;
mod speech_service;
mod whisper;

use std::time::Duration;

use futures_util::future::BoxFuture;

pub use endpoint::{Endpoint, EndpointSettings, EndpointSetupError};
pub use fair_mutex::Waiter;
pub use speech_service::{SpeechService, TranscriptionPermit};
pub use whisper::Whisper;

/// Samples per second of the audio that every transcriber takes; it has one channel.
pub const SAMPLE_RATE_HZ: u32 = 16_000;

/// Transcribes speech, one window of a recording at a time.
pub trait Transcriber: Send + Sync {
    /// Returns the name of the model, which is stored with each transcript.
    fn model(&self) -> &str;

    /// Maximum length of a window, in samples.
    fn max_window_samples(&self) -> usize;

    /// Returns whether it stops while the AI is paused (`ai.daily_tokens`): a service that costs money does, the local model does not.
    fn is_budgeted(&self) -> bool;

    /// Transcribes a window, in `language` (ISO 639-1) or in one that is detected. Takes seconds to minutes.
    ///
    /// # Errors
    /// [`TranscribeError`]; nothing of the window is transcribed then.
    fn transcribe(
        &self,
        window: Vec<i16>,
        language: Option<String>,
    ) -> BoxFuture<'static, Result<Transcription, TranscribeError>>;

    /// Releases the model's memory while no recording is transcribed.
    fn unload(&self);
}

/// The text of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcription {
    /// Segments in order; times count from the start of the window.
    pub segments: Vec<Segment>,
    /// ISO 639-1, if it is known.
    pub language: Option<String>,
    /// Whether the language is certain, so that it holds for the whole recording.
    pub is_language_certain: bool,
}

/// A few words with their times.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// When they start, in seconds.
    pub start: f64,
    /// When they end, in seconds.
    pub end: f64,
    /// The words, with single spaces between them.
    pub text: String,
}

/// Why a window was not transcribed. The messages may be shown to the user and contain nothing of what was said.
#[derive(Debug, thiserror::Error)]
pub enum TranscribeError {
    /// The local model could not be loaded or run, or its thread could not be started.
    #[error("the speech model failed")]
    Model,
    /// The service did not respond, or its response is not valid.
    #[error("the transcription service did not answer")]
    Unreachable,
    /// The service responded with an error status.
    #[error("the transcription service answered with status {status}")]
    Refused {
        /// HTTP status of the response, any but 200.
        status: u16,
        /// `Retry-After`, at most a day.
        retry_after: Option<Duration>,
    },
}

impl TranscribeError {
    /// Returns whether the same window would be refused again.
    pub fn is_permanent(&self) -> bool {
        // These are about the window. Others, such as 401 or 404, are about the service or its settings, which may change.
        matches!(self, Self::Refused { status: 400 | 413 | 415 | 422, .. })
    }
}

/// Cleans the text of a segment: single spaces, no replacement characters; `None` for what only describes a noise.
fn clean_segment(text: &str) -> Option<String> {
    let valid = text.replace(char::REPLACEMENT_CHARACTER, "");
    let words: Vec<&str> = valid.split_whitespace().collect();
    let text = words.join(" ");
    // Speech models describe sounds in these brackets; a transcript contains only what was said.
    let brackets = [('[', ']'), ('(', ')'), ('*', '*'), ('♪', '♪')];
    let is_noise = brackets.iter().any(|(open, close)| {
        text.strip_prefix(*open)
            .and_then(|rest| rest.strip_suffix(*close))
            .is_some_and(|rest| !rest.contains(*open))
    });
    (!is_noise && text.chars().any(char::is_alphanumeric)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_noises_are_removed() {
        for noise in ["[BLANK_AUDIO]", " (music playing)", "♪ ♪", "*beep*", "...", " "] {
            assert_eq!(clean_segment(noise), None, "{noise}");
        }
        assert_eq!(clean_segment("  (well)  then (yes) ").as_deref(), Some("(well) then (yes)"));
    }
}
