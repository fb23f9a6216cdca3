//! The context of answers to questions.

use std::sync::Arc;

use super::Answerer;

/// The answerer of questions, and the limits of its use. Clones share the answerer.
#[derive(Clone)]
pub struct AnswerContext {
    /// Answers questions from passages, with a configured endpoint or without a model.
    pub answerer: Arc<dyn Answerer>,
    /// Tokens of all users in a UTC day before AI is paused; 0 means no limit.
    pub daily_tokens: u64,
}
