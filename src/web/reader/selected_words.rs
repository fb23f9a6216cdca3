//! What words of a document become elsewhere: a source of a project, or the beginning of a question.

use std::ops::Range;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::document::{DocumentRef, ReadDocument};
use actors::operations::highlights::{AnchoredHighlight, DeleteHighlight, MarkDocument};
use actors::operations::projects::AddItems;
use actors::operations::reading::ReadPage;
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::json;
use url::form_urlencoded::Serializer;
use values::id::{DocumentId, HighlightId};
use values::kind::AnchorState;

use super::article::target_of;
use crate::parts;
use crate::web::filters;
use crate::web::library::active_projects;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::fields::Fields;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::ToMessageValue;

/// Characters of the words that are read: more than [`filters::visible_text`] shows, so that it ends longer words with an ellipsis.
const MAX_READ_CHARS: usize = 500;
/// The colour of the highlight that a project gets.
const SOURCE_COLOR: &str = "yellow";

/// The form that adds words of a document to a project.
#[derive(Template)]
#[template(path = "reader/to_project.html", blocks = ["dialog"])]
struct ToProjectPage {
    shell: Shell,
    words: SelectedWords,
    projects: Vec<(String, String)>,
    faults: FormFaults,
}

parts!(ToProjectPage { "dialog" => as_dialog });

/// Words of a document.
struct SelectedWords {
    document: DocumentId,
    range: Range<usize>,
    /// The version of the text in which they were selected.
    version: String,
    /// Their beginning, as it is shown and as a question begins with it.
    text: String,
    /// The highlight that has exactly these words.
    highlight: Option<HighlightId>,
}

impl SelectedWords {
    /// Reads the words that the field `at` names.
    async fn load(request: &PageRequest, fields: &Fields) -> Result<Self, Error> {
        let document = request.run(ReadPage(request.target().id(0)?)).await?;
        let range = target_of(fields, document.total_chars).ok_or(Error::not_found())?;
        let read = ReadDocument {
            document: DocumentRef::Document(document.document_id),
            offset: i64::try_from(range.start).unwrap_or(i64::MAX),
            max_chars: u32::try_from(range.len().min(MAX_READ_CHARS)).ok(),
        };
        let text = serde_json::to_value(&request.run(read).await?.text).map_err(Error::internal)?;
        Ok(Self {
            document: document.document_id,
            version: fields.get("version").map_or_else(|| document.version.to_string(), str::to_owned),
            text: filters::visible_text(&text::one_line(text.as_str().unwrap_or_default())),
            highlight: find_highlight(&document.highlights, &range),
            range,
        })
    }

    /// The address at which the reader shows them.
    fn path(&self) -> String {
        format!("/read/{}?at={}-{}#at", self.document, self.range.start, self.range.end)
    }

    /// Highlights them.
    async fn mark(&self, request: &PageRequest) -> Result<HighlightId, Error> {
        let version = self.version.parse::<i32>().unwrap_or_default();
        let fields = json!({
            "startOffset": self.range.start, "endOffset": self.range.end, "version": version, "color": SOURCE_COLOR,
        });
        let marked = request.run_json::<MarkDocument>(&request.target(), fields).await?;
        Ok(marked.highlight.highlight_id)
    }
}

fn find_highlight(highlights: &[AnchoredHighlight], range: &Range<usize>) -> Option<HighlightId> {
    let is_at = |offset: i32, wanted: usize| usize::try_from(offset).is_ok_and(|offset| offset == wanted);
    let is_same = |highlight: &&AnchoredHighlight| {
        highlight.anchor_state != AnchorState::Lost
            && is_at(highlight.start_offset, range.start)
            && is_at(highlight.end_offset, range.end)
    };
    highlights.iter().find(is_same).map(|highlight| highlight.highlight_id)
}

/// Asks for the project that the words of the address are added to.
///
/// # Errors
/// [`Error::NotFound`] when the user has no such document, or it has no such words; those of the operations.
pub async fn show_projects(request: PageRequest) -> Result<HttpResponse, Error> {
    let words = SelectedWords::load(&request, &request.query).await?;
    respond(&request, StatusCode::OK, words, FormFaults::default()).await
}

async fn respond(
    request: &PageRequest,
    status: StatusCode,
    words: SelectedWords,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let projects = active_projects(request).await?;
    let shell = request.shell(NavigationEntry::Library).await?;
    request.show_with_status(status, &ToProjectPage { shell, words, projects, faults })
}

/// Adds the words to the project of the form, as a highlight.
///
/// # Errors
/// Those of [`show_projects`].
pub async fn add_to_project(request: PageRequest) -> Result<HttpResponse, Error> {
    let words = SelectedWords::load(&request, &request.form).await?;
    let Some(project) = request.form.get("to") else {
        return respond(&request, StatusCode::OK, words, FormFaults::default()).await;
    };
    match add(&request, &words, project).await {
        Ok(new) => {
            let mut message = DoneMessage::new("reader-project-added");
            if let Some(highlight) = new {
                // The source of the project goes with its highlight.
                let undo = format!("/read/{}/highlights/{highlight}", words.document);
                message = message.undo(undo, &[("action", "delete")]);
            }
            request.done(&words.path(), message)
        }
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            respond(&request, status, words, faults).await
        }
    }
}

/// Adds the words to a project. Returns the highlight if it was made for this.
async fn add(
    request: &PageRequest,
    words: &SelectedWords,
    project: &str,
) -> Result<Option<HighlightId>, Error> {
    let (highlight, is_new) = match words.highlight {
        Some(known) => (known, false),
        None => (words.mark(request).await?, true),
    };
    let items = json!({ "items": [{ "highlightId": highlight.to_string() }] });
    let added = request.run_json::<AddItems>(&Target(vec![project.to_owned()]), items).await;
    if added.is_err() && is_new {
        // The user asked for a source, not for a highlight.
        request.run_json::<DeleteHighlight>(&Target(vec![highlight.to_string()]), json!({})).await?;
    }
    added.map(|_| is_new.then_some(highlight))
}

/// Goes on to a question about the document that begins with the words of the address.
///
/// # Errors
/// [`Error::NotFound`] when the user has no such document, or it has no such words; those of the operations.
pub async fn ask(request: PageRequest) -> Result<HttpResponse, Error> {
    let words = SelectedWords::load(&request, &request.query).await?;
    let quoted = [("words", words.text.to_message_value())];
    let question = format!("{}\n", request.locale().t_with("reader-ask-quoted", &quoted));
    let query = Serializer::new(String::new())
        .append_pair("scope", &format!("picked:{}", words.document))
        .append_pair("question", &question)
        .finish();
    Ok(request.redirect(&format!("/ask?{query}")))
}
