//! What the page of a thread shows of its questions.

use actors::operations::ask_threads::{AnswerView, CitationView, QuestionView, SourceState, answer_markdown};
use errors::code;
use values::id::AskThreadId;
use values::kind::{AnswerOutcome, QuestionState};

use super::answer_language::translate_answer;
use super::answer_text::{AnswerPiece, divide_answer};
use crate::web::page::request::PageRequest;
use crate::web::places::PlaceView;

/// The citation that is open beside the answer: the number of its question, and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenCitation {
    /// The number of the question, from 1.
    pub question: i32,
    /// The number of the citation, from 1.
    pub citation: usize,
}

/// A question of a thread.
pub struct TurnView {
    /// Its id.
    pub id: String,
    /// Its number, from 1.
    pub number: i32,
    /// The question.
    pub question: String,
    /// Whether its answer is being prepared.
    pub is_waiting: bool,
    /// Its answer.
    pub answer: Option<AnsweredView>,
    /// The keys of the heading and of the text of why it failed.
    pub failure: Option<(&'static str, &'static str)>,
}

/// An answer.
pub struct AnsweredView {
    /// Its paragraphs.
    pub paragraphs: Vec<Vec<AnswerPieceView>>,
    /// Its citations.
    pub sources: Vec<CitedSourceView>,
    /// The numbers of the citations whose quote was not found in the source, as a list.
    pub unverified: String,
    /// How many these are.
    pub unverified_count: usize,
    /// Whether the library has nothing about the question.
    pub is_nothing: bool,
    /// Number of passages that the model was given.
    pub passages_read: usize,
    /// Name of the model.
    pub model: String,
    /// The answer as Markdown, for copying.
    pub markdown: String,
}

/// A piece of a paragraph: words, the chip of a citation, or the end of a line.
pub struct AnswerPieceView {
    /// The words; empty for others.
    pub words: String,
    /// The chip.
    pub chip: Option<ChipView>,
    /// Whether a line ends.
    pub is_line_end: bool,
}

/// The chip of a citation.
#[derive(Clone, Debug)]
pub struct ChipView {
    /// The number of the citation.
    pub number: usize,
    /// The address that opens it beside the answer.
    pub href: String,
    /// Whether its quote was found in the source.
    pub is_verified: bool,
    /// Whether it is open.
    pub is_open: bool,
    /// The quote, which a script shows while the pointer rests on the chip.
    pub quote: String,
}

/// A source in the list below an answer.
pub struct CitedSourceView {
    /// Its chip.
    pub chip: ChipView,
    /// Title of the document.
    pub title: String,
    /// Where the quote stands.
    pub place: PlaceView,
    /// The quote.
    pub quote: String,
    /// The key of what happened to the source since.
    pub change: Option<&'static str>,
    /// Whether the document can still be opened.
    pub is_there: bool,
}

impl TurnView {
    /// Returns the view of a question.
    pub fn new(
        thread: AskThreadId,
        question: QuestionView,
        open: Option<OpenCitation>,
        request: &PageRequest,
    ) -> Self {
        let number = question.number;
        let answer = question.answer.map(|answer| AnsweredView::new(thread, number, answer, open, request));
        let failure = match question.state {
            QuestionState::Failed => Some(failure_keys(question.error.as_deref().unwrap_or_default())),
            QuestionState::Waiting | QuestionState::Answered => None,
        };
        Self {
            id: question.question_id.to_string(),
            number,
            question: question.question,
            is_waiting: question.state == QuestionState::Waiting,
            answer,
            failure,
        }
    }
}

/// Returns the keys of the heading and the text for the code of an error.
fn failure_keys(error: &str) -> (&'static str, &'static str) {
    match error {
        code::AI_PAUSED => ("ask-failed-paused", "ask-failed-paused-text"),
        code::PLAN_LIMIT_REACHED => ("ask-failed-used-up", "ask-failed-used-up-text"),
        code::AI_QUOTA_EXCEEDED => ("ask-failed-quota", "ask-failed-quota-text"),
        code::AI_UNAVAILABLE => ("ask-failed-model", "ask-failed-model-text"),
        code::NOT_FOUND => ("ask-failed-gone", "ask-failed-gone-text"),
        _ => ("ask-failed", "ask-failed-text"),
    }
}

impl AnsweredView {
    fn new(
        thread: AskThreadId,
        question: i32,
        answer: AnswerView,
        open: Option<OpenCitation>,
        request: &PageRequest,
    ) -> Self {
        let locale = request.locale();
        let base_url = &request.ctx.core.base_url;
        let answer = translate_answer(answer, locale);
        let is_nothing = answer.outcome == AnswerOutcome::NothingFound;
        let markdown = answer_markdown(&answer, base_url, &locale.t("ask-not-verified-note"));
        let divided = divide_answer(&answer.answer, answer.citations.len());
        let sources: Vec<CitedSourceView> = answer
            .citations
            .iter()
            .map(|citation| CitedSourceView::new(thread, question, citation, open, request))
            .collect();
        let chip = |number: usize| sources.iter().find(|source| source.chip.number == number);
        let piece = |piece: AnswerPiece| match piece {
            AnswerPiece::Words(words) => AnswerPieceView { words, chip: None, is_line_end: false },
            AnswerPiece::Marker(number) => {
                let chip = chip(number).map(|source| source.chip.clone());
                AnswerPieceView { words: String::new(), chip, is_line_end: false }
            }
            AnswerPiece::LineEnd => AnswerPieceView { words: String::new(), chip: None, is_line_end: true },
        };
        let paragraphs = divided.into_iter().map(|pieces| pieces.into_iter().map(piece).collect()).collect();
        let unverified: Vec<String> = sources
            .iter()
            .filter(|source| !source.chip.is_verified)
            .map(|source| source.chip.number.to_string())
            .collect();
        Self {
            paragraphs,
            unverified_count: unverified.len(),
            unverified: locale.list(&unverified),
            is_nothing,
            passages_read: answer.passages_read,
            model: answer.model,
            markdown,
            sources,
        }
    }
}

impl CitedSourceView {
    fn new(
        thread: AskThreadId,
        question: i32,
        citation: &CitationView,
        open: Option<OpenCitation>,
        request: &PageRequest,
    ) -> Self {
        let cited = &citation.citation;
        let this = OpenCitation { question, citation: cited.n };
        let position = Some(&citation.position).filter(|_| citation.source == SourceState::Current);
        Self {
            chip: ChipView {
                number: cited.n,
                href: format!("/ask/{thread}?q={question}&c={}#side", cited.n),
                is_verified: cited.verified,
                is_open: open == Some(this),
                quote: cited.quote.clone(),
            },
            title: if cited.title.trim().is_empty() { cited.url.clone() } else { cited.title.clone() },
            place: PlaceView::new(cited.document_id, position, request.locale()),
            quote: cited.quote.clone(),
            change: match citation.source {
                SourceState::Current => None,
                SourceState::Changed => Some("ask-source-changed"),
                SourceState::Gone => Some("ask-source-gone"),
            },
            is_there: citation.source != SourceState::Gone,
        }
    }
}
