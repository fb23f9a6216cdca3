//! The title of a saved page, and the user's notes on it.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::bookmarks::{ChangeBookmark, ShowBookmark};
use askama::Template;
use errors::Error;
use serde_json::{Map, Value, json};

use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The longest form, in bytes: notes of the most characters, as a form encodes them.
pub const MAX_EDIT_BYTES: usize = 2 << 20;

/// The form for the title and the notes.
#[derive(Template)]
#[template(path = "library/edit.html", blocks = ["dialog"])]
struct EditBookmarkPage {
    shell: Shell,
    id: String,
    title: String,
    notes: String,
    faults: FormFaults,
    back: String,
}

parts!(EditBookmarkPage { "dialog" => as_dialog });

/// Shows the form.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let bookmark = request.run_query::<ShowBookmark>(&request.target(), &[]).await?.bookmark;
    let (title, notes) = (bookmark.title, bookmark.notes);
    respond(&request, StatusCode::OK, title, notes, FormFaults::default()).await
}

/// Changes what differs from the bookmark.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let bookmark = request.run_query::<ShowBookmark>(&request.target(), &[]).await?.bookmark;
    let title = request.form.text("title").trim().to_owned();
    let notes = request.form.text("notes").replace("\r\n", "\n").trim().to_owned();
    let mut change = Map::new();
    // A title that the user gives stays when the page is fetched again.
    if title != bookmark.title.trim() {
        change.insert("title".to_owned(), json!(title));
    }
    if notes != bookmark.notes.trim() {
        let value = if notes.is_empty() { Value::Null } else { json!(notes) };
        change.insert("notes".to_owned(), value);
    }
    let back = request.back(&format!("/read/{}", bookmark.document_id));
    if change.is_empty() {
        return Ok(request.redirect(&back));
    }
    match request.run_json::<ChangeBookmark>(&request.target(), Value::Object(change)).await {
        Ok(_) => request.done(&back, DoneMessage::new("library-done-edited")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            respond(&request, status, title, notes, faults).await
        }
    }
}

async fn respond(
    request: &PageRequest,
    status: StatusCode,
    title: String,
    notes: String,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let shell = request.shell(NavigationEntry::Library).await?;
    let (id, back) = (request.target().text(0)?, request.back("/library"));
    request.show_with_status(status, &EditBookmarkPage { shell, id, title, notes, faults, back })
}
