//! Turns speech into timed text: the trait, the local model behind it by default, and an endpoint in its place.

mod endpoint;
mod turns;
mod whisper;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::BoxFuture;

use self::turns::Taken;

pub use endpoint::{Endpoint, EndpointSettings, SetupError};
pub use turns::{Turns, Waiter};
pub use whisper::Whisper;

/// Samples per second of the audio that every transcriber takes; it has one channel.
pub const SAMPLE_RATE_HZ: u32 = 16_000;

/// Something that turns speech into text.
pub trait Transcriber: Send + Sync {
    /// Name of the model.
    fn model(&self) -> &str;

    /// Samples of the longest window that it hears at once.
    fn longest(&self) -> usize;

    /// Whether the AI's pause holds for it: what is paid for elsewhere pauses.
    fn pauses(&self) -> bool;

    /// What is said in a window, in the language where it is known. Takes seconds to minutes.
    ///
    /// # Errors
    /// As [`TranscribeError`] says; nothing is heard then.
    fn hear(
        &self,
        window: Vec<i16>,
        language: Option<String>,
    ) -> BoxFuture<'static, Result<Heard, TranscribeError>>;

    /// Nothing more is to be heard for now: what it holds in memory may go.
    fn rest(&self);
}

/// What was heard in a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// Segments in order; times count from the window's beginning.
    pub segments: Vec<Said>,
    /// ISO 639-1, where it was told.
    pub language: Option<String>,
    /// Whether the language is told with certainty, so that it holds for the whole recording.
    pub certain: bool,
}

/// A few words, and when they are said.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// When they begin, in seconds.
    pub start: f64,
    /// When they end.
    pub end: f64,
    /// The words.
    pub text: String,
}

/// Why nothing was heard, in words for the person. Holds nothing of what was said.
#[derive(Debug, thiserror::Error)]
pub enum TranscribeError {
    /// The local model failed.
    #[error("the speech model failed")]
    Model,
    /// No answer, or none that makes sense.
    #[error("the transcription service did not answer")]
    Unreachable,
    /// It answered with this status.
    #[error("the transcription service answered {status}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// When to come again, where it said so.
        after: Option<Duration>,
    },
}

impl TranscribeError {
    /// Whether the same window will be refused again.
    pub fn permanent(&self) -> bool {
        matches!(self, Self::Refused { status: 400 | 413 | 415 | 422, .. })
    }
}

/// The way to the transcriber, once there is one: one recording at a time. `K` is the id of an account.
#[derive(Clone)]
pub struct Speech<K> {
    transcriber: Arc<RwLock<Option<Arc<dyn Transcriber>>>>,
    turns: Turns<K>,
}

/// The turn of one recording.
pub struct Turn<K> {
    /// What hears it.
    pub transcriber: Arc<dyn Transcriber>,
    _taken: Taken<K>,
}

impl<K> Drop for Turn<K> {
    fn drop(&mut self) {
        self.transcriber.rest();
    }
}

impl<K: Copy + Eq> Speech<K> {
    /// With this transcriber, or none as yet.
    pub fn new(transcriber: Option<Arc<dyn Transcriber>>) -> Self {
        Self { transcriber: Arc::new(RwLock::new(transcriber)), turns: Turns::default() }
    }

    /// The transcriber, where it is there.
    pub fn transcriber(&self) -> Option<Arc<dyn Transcriber>> {
        self.transcriber.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on this transcriber.
    pub fn set(&self, transcriber: Arc<dyn Transcriber>) {
        *self.transcriber.write().unwrap_or_else(PoisonError::into_inner) = Some(transcriber);
    }

    /// Whose recording is heard.
    pub fn turns(&self) -> &Turns<K> {
        &self.turns
    }

    /// A turn for one recording, once those before it have had theirs; none without a transcriber.
    pub async fn turn(&self, waiter: Waiter<K>) -> Option<Turn<K>> {
        self.transcriber()?;
        let taken = self.turns.take(waiter).await;
        Some(Turn { transcriber: self.transcriber()?, _taken: taken })
    }
}

/// Words as they are kept: white space single, nothing that is no text; none for what only describes a noise.
fn cleaned(text: &str) -> Option<String> {
    let whole = text.replace(char::REPLACEMENT_CHARACTER, "");
    let words: Vec<&str> = whole.split_whitespace().collect();
    let text = words.join(" ");
    let described = [('[', ']'), ('(', ')'), ('*', '*'), ('♪', '♪')];
    let noise = described.iter().any(|(open, close)| {
        text.strip_prefix(*open)
            .and_then(|rest| rest.strip_suffix(*close))
            .is_some_and(|rest| !rest.contains(*open))
    });
    (!noise && text.chars().any(char::is_alphanumeric)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_describes_a_noise_is_not_said() {
        for noise in ["[BLANK_AUDIO]", " (music playing)", "♪ ♪", "*beep*", "...", " "] {
            assert_eq!(cleaned(noise), None, "{noise}");
        }
        assert_eq!(cleaned("  (well)  then (yes) ").as_deref(), Some("(well) then (yes)"));
    }
}
