//! Asks the questions of a set, and judges the answers, which quote the library.

use actors::context::OperationContext;
use actors::operation::Operation;
use actors::operations::ask::{AnswerOutcome, Ask, AskResponse};
use serde::Serialize;

use super::evaluation_library::EvaluationLibrary;
use super::figures::{rounded, share};
use super::set::AnswerableQuestion;
use crate::cli::failure::{Failure, describe};

/// Some of a number of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PartialCount {
    /// Those for which the result is right.
    pub right: usize,
    /// All of them.
    pub all: usize,
}

impl PartialCount {
    /// Counts one more item.
    pub fn add(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.all += 1;
    }

    /// Returns the share of those that are right, rounded as it is printed; 0 without any.
    pub fn share(self) -> f64 {
        rounded(share(self.right, self.all))
    }
}

/// How many questions are answered as they should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AnswerCounts {
    /// The questions that a text answers; right are the answers that cite it.
    pub answered: PartialCount,
    /// The questions that no text answers; right are those that are declined.
    pub declined: PartialCount,
}

impl AnswerCounts {
    /// Asks each of the questions.
    ///
    /// # Errors
    /// [`Failure::NotEvaluated`] with the number of a question that fails, from 1.
    pub async fn ask(
        ctx: &OperationContext,
        library: &EvaluationLibrary,
        questions: &[AnswerableQuestion],
    ) -> Result<Self, Failure> {
        let mut counts = Self::default();
        for (question, number) in questions.iter().zip(1..) {
            let ask = Ask { question: question.text.clone(), bookmarks: None };
            let response = ask.run(&library.caller, ctx).await.map_err(|error| {
                Failure::NotEvaluated(format!("question {number} failed: {}", describe(&error)))
            })?;
            let answer = JudgedAnswer::of(library, &response);
            match &question.document {
                Some(document) => counts.answered.add(answer.is_from(document)),
                None => counts.declined.add(answer.is_declined()),
            }
        }
        Ok(counts)
    }
}

/// An answer, as far as it is judged.
struct JudgedAnswer<'a> {
    outcome: AnswerOutcome,
    /// The ids of the texts that it cites.
    texts: Vec<&'a str>,
}

impl<'a> JudgedAnswer<'a> {
    fn of(library: &'a EvaluationLibrary, response: &AskResponse) -> Self {
        let bookmarks = response.citations.iter().filter_map(|citation| citation.bookmark_id);
        let texts = bookmarks.filter_map(|bookmark| library.text_of(bookmark)).collect();
        Self { outcome: response.outcome, texts }
    }

    /// Returns whether it says that the library does not answer the question.
    fn is_declined(&self) -> bool {
        self.outcome != AnswerOutcome::Answered
    }

    /// Returns whether it answers the question, and cites this text.
    fn is_from(&self, text: &str) -> bool {
        !self.is_declined() && self.texts.contains(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_counts_only_with_a_citation_of_its_text() {
        let answer = |outcome, cited| JudgedAnswer { outcome, texts: vec![cited] };

        assert!(answer(AnswerOutcome::Answered, "a").is_from("a"));
        assert!(!answer(AnswerOutcome::Answered, "b").is_from("a"));
        for outcome in [AnswerOutcome::Closest, AnswerOutcome::NothingFound] {
            assert!(!answer(outcome, "a").is_from("a") && answer(outcome, "a").is_declined());
        }
    }
}
