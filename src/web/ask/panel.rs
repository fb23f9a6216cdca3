//! The source that is open beside the answer.

use actors::operations::ask_threads::{CitationExcerpt, ShowCitation, SourceState, ThreadView};
use errors::Error;

use super::view::OpenCitation;
use crate::web::page::request::PageRequest;
use crate::web::places::{PlaceView, kind_key};

/// A source with its quote and the text around it.
pub struct SourcePanel {
    /// Number of the citation.
    pub number: usize,
    /// Title of the document.
    pub title: String,
    /// The key of the name of its kind.
    pub kind: &'static str,
    /// Where the quote stands.
    pub place: PlaceView,
    /// Whether the place has a name: a page, a second or a paragraph.
    pub has_place: bool,
    /// Whether the quote was found in the source.
    pub is_verified: bool,
    /// The quote as it was cited; empty for a document without a text.
    pub quote: String,
    /// The text around it.
    pub excerpt: Option<CitationExcerpt>,
    /// The key of what happened to the source since.
    pub change: Option<&'static str>,
    /// Whether the document can still be opened.
    pub is_there: bool,
    /// The address without the panel.
    pub close: String,
    /// The address with the citation before.
    pub previous: Option<String>,
    /// The address with the next citation.
    pub next: Option<String>,
}

impl SourcePanel {
    /// Loads the citation that is open. `None` if there is none, or the answer has none with this number.
    ///
    /// # Errors
    /// The error of the operation.
    pub async fn load(
        request: &PageRequest,
        thread: &ThreadView,
        open: Option<OpenCitation>,
    ) -> Result<Option<Self>, Error> {
        let Some(open) = open else { return Ok(None) };
        let question = thread.questions.iter().find(|question| question.number == open.question);
        let Some((question, answer)) = question.and_then(|found| Some((found, found.answer.as_ref()?)))
        else {
            return Ok(None);
        };
        let shown =
            ShowCitation { thread: thread.thread_id, question: question.question_id, number: open.citation };
        let shown = match request.run(shown).await {
            Ok(shown) => shown,
            Err(Error::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let (citation, cited) = (&shown.citation, &shown.citation.citation);
        let count = answer.citations.len();
        let path = |number: usize| format!("/ask/{}?q={}&c={number}#side", thread.thread_id, open.question);
        // In a text that changed, the position is known only if the quote was found again.
        let is_placed = match citation.source {
            SourceState::Current => true,
            SourceState::Changed => shown.excerpt.is_some(),
            SourceState::Gone => false,
        };
        let position = &citation.position;
        let is_named =
            position.page.is_some() || position.start_seconds.is_some() || position.paragraph.is_some();
        Ok(Some(Self {
            number: cited.n,
            has_place: is_placed && is_named,
            title: if cited.title.trim().is_empty() { cited.url.clone() } else { cited.title.clone() },
            kind: kind_key(cited.content_type),
            place: PlaceView::new(
                cited.document_id,
                Some(&citation.position).filter(|_| is_placed),
                request.locale(),
            ),
            is_verified: cited.verified,
            quote: cited.quote.clone(),
            change: match citation.source {
                SourceState::Current => None,
                SourceState::Changed if shown.excerpt.is_some() => Some("ask-source-moved"),
                SourceState::Changed => Some("ask-source-changed"),
                SourceState::Gone => Some("ask-source-gone"),
            },
            is_there: citation.source != SourceState::Gone,
            close: format!("/ask/{}#q-{}", thread.thread_id, open.question),
            previous: (open.citation > 1).then(|| path(open.citation - 1)),
            next: (open.citation < count).then(|| path(open.citation + 1)),
            excerpt: shown.excerpt,
        }))
    }
}
