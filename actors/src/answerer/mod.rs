//! Answers a question from passages: the trait, and the two that stand behind it. An OpenAI-compatible endpoint where one
//! is set ([`Chat`]), else the embedded one, which quotes ([`Extractive`]).
//!
//! An answerer gets text that others wrote. It has no tools, and what it says is read as data too: markers and quotations
//! are checked behind it (`search::citation`).

mod chat;
mod extractive;

use futures_util::future::BoxFuture;

pub use chat::{Chat, ChatSettings, SetupError};
pub use extractive::Extractive;

/// What is asked, and what it is answered from.
#[derive(Clone, Debug)]
pub struct Question {
    /// In the reader's words.
    pub text: String,
    /// Best first; `[n]` in the answer is the n-th.
    pub passages: Vec<Passage>,
}

/// A passage to answer from: third-party text.
#[derive(Clone, Debug)]
pub struct Passage {
    /// Its document's title.
    pub title: String,
    /// Its text.
    pub text: String,
    /// How near it is to the question in meaning, where that is known.
    pub cosine: Option<f32>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The answer with markers; none where the passages do not answer the question.
    pub text: Option<String>,
    /// What answered.
    pub model: String,
    /// Tokens that it used.
    pub tokens: u64,
}

/// Why there is no answer. It holds nothing of what was asked or read.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The endpoint cannot be reached, or the connection broke.
    #[error("the model cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It refused, with this HTTP status.
    #[error("the model answered with HTTP status {0}")]
    Refused(u16),
    /// It hung several times in a row, and is not asked for a while.
    #[error("the model did not answer several times in a row, and is not asked for up to 30 seconds")]
    Suspended,
    /// It did not answer in time.
    #[error("the model took too long to answer")]
    Late,
    /// What it sent is not an answer, or not a whole one.
    #[error("the answer of the model cannot be used: {0}")]
    Unreadable(&'static str),
    /// The embedded model failed.
    #[error("the embedded model failed")]
    Inside(#[source] errors::Error),
}

/// Something that answers.
pub trait Answerer: Send + Sync {
    /// Its name, for answers that need no model.
    fn model(&self) -> &str;

    /// Answers within a deadline of its own, which is shorter than a minute.
    fn answer(&self, question: Question) -> BoxFuture<'_, Result<Draft, Failure>>;
}
