//! The forms for highlights: make one of the words that the address names, change and delete one, and find a lost one again. A script sends
//! the same changes to the API.

use actix_web::HttpResponse;
use actors::operations::highlights::{
    AnchoredHighlight, ChangeHighlight, DeleteHighlight, FindHighlight, HighlightCandidate, MarkDocument,
    PlaceHighlight,
};
use actors::operations::reading::drawn_color;
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::{Value, json};

use super::page_view::{asks_for_text, place_url};
use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The places where the words of a highlight may be.
#[derive(Template)]
#[template(path = "reader/find.html")]
struct FindPage {
    shell: Shell,
    document: String,
    id: String,
    quote: String,
    color: &'static str,
    version: i32,
    candidates: Vec<HighlightCandidate>,
}

parts!(FindPage {});

/// Highlights the words that the fields `startOffset` and `endOffset` name.
///
/// # Errors
/// Those of [`MarkDocument`].
pub async fn create(request: PageRequest) -> Result<HttpResponse, Error> {
    let names = ["startOffset", "endOffset", "version", "color", "note"];
    let marked = request.run_form::<MarkDocument>(&request.target(), &names).await?;
    let path = path_of(&request, &marked.highlight)?;
    let action = format!("/read/{}/highlights/{}", request.target().text(0)?, marked.highlight.highlight_id);
    let key = if marked.was_saved { "reader-marked-and-saved" } else { "reader-marked" };
    let mut undo = vec![("action", "delete")];
    if asks_for_text(&request.form) {
        undo.push(("as", "text"));
    }
    request.done(&path, DoneMessage::new(key).undo(action, &undo))
}

/// Changes the note and the colour of a highlight, or deletes it.
///
/// # Errors
/// Those of the change.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let highlight = Target(vec![request.target().text(1)?]);
    let document = document_url(&request)?;
    let document = document.trim_end_matches(['?', '&']);
    if request.form.text("action") == "delete" {
        request.run_json::<DeleteHighlight>(&highlight, json!({})).await?;
        return request.done(document, DoneMessage::new("reader-mark-deleted"));
    }
    let mut changes = json!({});
    if let Value::Object(fields) = &mut changes {
        if request.form.has("note") {
            let note = Some(request.form.text("note").trim()).filter(|note| !note.is_empty());
            fields.insert("note".to_owned(), json!(note));
        }
        if let Some(color) = request.form.get("color") {
            fields.insert("color".to_owned(), json!(color));
        }
    }
    request.run_json::<ChangeHighlight>(&highlight, changes).await?;
    request
        .done(&format!("{document}#h-{}", request.target().text(1)?), DoneMessage::new("reader-mark-changed"))
}

/// Shows where the words of a highlight may be.
///
/// # Errors
/// [`Error::NotFound`] when the user has no such highlight.
pub async fn find(request: PageRequest) -> Result<HttpResponse, Error> {
    let highlight = Target(vec![request.target().text(1)?]);
    let found = request.run_json::<FindHighlight>(&highlight, json!({})).await?;
    let page = FindPage {
        shell: request.shell(NavigationEntry::Highlights).await?,
        document: found.document_id.to_string(),
        id: found.highlight.highlight_id.to_string(),
        quote: found.highlight.text.clone(),
        color: drawn_color(found.highlight.color.as_deref()),
        version: found.version,
        candidates: found.candidates,
    };
    request.show(&page)
}

/// Places a highlight on the words that the user chose.
///
/// # Errors
/// Those of [`PlaceHighlight`].
pub async fn place(request: PageRequest) -> Result<HttpResponse, Error> {
    let highlight = Target(vec![request.target().text(1)?]);
    let names = ["startOffset", "endOffset", "version"];
    let placed = request.run_form::<PlaceHighlight>(&highlight, &names).await?;
    request.done(&path_of(&request, &placed.highlight)?, DoneMessage::new("reader-mark-placed"))
}

/// Returns the URL of the reader from which the form was sent, up to a parameter that follows.
fn document_url(request: &PageRequest) -> Result<String, Error> {
    Ok(place_url(&request.target().text(0)?, asks_for_text(&request.form)))
}

/// Returns the URL of a highlight in the reader from which the form was sent.
fn path_of(request: &PageRequest, highlight: &AnchoredHighlight) -> Result<String, Error> {
    let document = document_url(request)?;
    Ok(format!("{document}at={}-{}#at", highlight.start_offset, highlight.end_offset))
}
