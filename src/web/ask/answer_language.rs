//! The words of the server in an answer, which are stored in English, in the language of the page.

use actors::operations::ask::{NO_DIRECT_ANSWER, textless_reason};
use actors::operations::ask_threads::AnswerView;
use values::kind::{AnswerOutcome, DocumentStatus};

use crate::web::locale::Locale;

/// The states of a document without a text, each with the key of the words behind its title.
const TEXTLESS_STATES: [(DocumentStatus, &str); 3] = [
    (DocumentStatus::Processing, "ask-text-waiting"),
    (DocumentStatus::Failed, "ask-text-failed"),
    (DocumentStatus::Ready, "ask-text-empty"),
];

/// Returns the answer with the words of the server in the language of the page. What a model wrote or what is quoted stays as it is.
pub fn translate_answer(answer: AnswerView, locale: &Locale) -> AnswerView {
    let text = match answer.outcome {
        AnswerOutcome::Answered => return answer,
        AnswerOutcome::NothingFound => locale.t("ask-nothing"),
        AnswerOutcome::Closest => closest_text(&answer, locale),
    };
    AnswerView { answer: text, ..answer }
}

fn closest_text(answer: &AnswerView, locale: &Locale) -> String {
    let Some(rest) = answer.answer.strip_prefix(NO_DIRECT_ANSWER) else { return answer.answer.clone() };
    // These documents are named before any sentence is quoted, so no more than their number is replaced.
    let textless = answer.citations.iter().filter(|cited| cited.citation.quote.is_empty()).count();
    let mut text = rest.to_owned();
    for (status, key) in TEXTLESS_STATES {
        let stored = format!("” ({})", textless_reason(status));
        text = text.replacen(&stored, &format!("” ({})", locale.t(key)), textless);
    }
    format!("{}{text}", locale.t("ask-closest"))
}
