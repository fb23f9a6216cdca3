//! The context of answers to questions.

use std::sync::Arc;

use super::Answerer;

/// What answers questions, and how much it may be used. Clones share the answerer.
#[derive(Clone)]
pub struct AnswerContext {
    /// Answers questions from passages, with a configured endpoint or without a model.
    pub answerer: Arc<dyn Answerer>,
    /// Tokens of all users in a UTC day before the AI pauses; 0 means no limit.
    pub daily_tokens: u64,
}
