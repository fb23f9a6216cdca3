//! Answers a question from passages: the trait and its two implementations. [`Chat`] asks an OpenAI-compatible endpoint, if
//! one is configured; otherwise [`Extractive`] quotes the passages without a model that writes.
//!
//! An answerer reads text that others wrote. It has no tools, and what a model writes is data too: its markers and quotations are checked
//! afterwards (`search::citation`).

mod chat;
mod context;
mod extractive;

use std::ops::Range;

use futures_util::future::BoxFuture;

pub use chat::{Chat, ChatSettings, ChatSetupError};
pub use context::AnswerContext;
pub use extractive::Extractive;

/// A question, and the passages to answer it from.
#[derive(Clone, Debug)]
pub struct Question {
    /// The question in the words of the user, in any language.
    pub text: String,
    /// The passages, those of one document together, the best document first. The marker `[n]` in an answer refers to the n-th.
    pub passages: Vec<SourcePassage>,
}

/// A passage to answer from. It is text of third parties.
#[derive(Clone, Debug)]
pub struct SourcePassage {
    /// Rank of its document in the search, from 0 for the best one. Passages with the same rank are of the same document.
    pub document_rank: usize,
    /// The title of the document; it may be empty.
    pub title: String,
    /// The text of the passage, as it is indexed.
    pub text: String,
    /// Relevance of the passage in the search, from 0 to 1.
    pub score: f32,
    /// Cosine similarity of the embeddings of passage and question, if it was computed.
    pub cosine: Option<f32>,
}

/// An answer whose citations are not checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// What a model wrote, or what is quoted.
    pub answer: DraftAnswer,
    /// The name of the model, as the endpoint reports it or else as it is configured.
    pub model: String,
    /// Tokens of question, passages and answer that the model used; 0 for [`Extractive`].
    pub tokens: u64,
}

/// How far the passages answer a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftAnswer {
    /// What a model wrote: text with markers `[n]`, which may refer to no passage, and with quotations, which may be invented.
    Written(String),
    /// The sentences that answer the question, best first.
    Quoted(Vec<QuotedSentence>),
    /// The sentences that are nearest to the question, best first, none of which seems to answer it.
    Closest(Vec<QuotedSentence>),
    /// The passages contain no words.
    Nothing,
}

/// A part of the text of a passage. It is not text with a marker, because the text itself may contain what looks like one: `a[12]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotedSentence {
    /// Index of the passage in the question, from 0.
    pub passage: usize,
    /// Range in bytes of the text of the passage.
    pub range: Range<usize>,
}

/// Why there is no answer. It contains nothing of the question or the passages.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The endpoint cannot be reached, or the connection broke.
    #[error("the model cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The endpoint refused the request, with this HTTP status.
    #[error("the model answered with HTTP status {0}")]
    Refused(u16),
    /// The endpoint timed out several times in a row and is not asked for a while.
    #[error("the model did not answer several times in a row, and is not asked for up to 30 seconds")]
    Suspended,
    /// The endpoint did not answer in time.
    #[error("the model took too long to answer")]
    Timeout,
    /// The response is not a complete answer.
    #[error("the answer of the model cannot be used: {0}")]
    InvalidResponse(&'static str),
    /// The embedded model failed, or too much work waits for it.
    #[error("the embedded model failed")]
    Embedded(#[source] errors::Error),
}

/// An answerer of questions from passages.
pub trait Answerer: Send + Sync {
    /// Returns the name of the model, for answers that are made without asking it.
    fn model(&self) -> &str;

    /// Answers the question. Each implementation has a deadline of less than a minute.
    fn answer(&self, question: Question) -> BoxFuture<'_, Result<Draft, AnswerError>>;
}
