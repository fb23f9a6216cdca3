//! Notes of a project.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operation::FromRequest;
use actors::operations::notes::{ChangeNote, DeleteNote, NoteView, ShowNote};
use actors::operations::projects::WriteNote;
use actors::target::Target;
use errors::Error;
use serde_json::json;
use validation::NoFields;
use values::id::ProjectId;

use super::conflict::mark_of;
use super::form::{ProjectFieldKind, ProjectForm, is_outdated};
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::sent_forms::FormOutcome;

const MAX_TITLE_CHARS: u32 = 300;
const MAX_BODY_CHARS: u32 = 100_000;

fn project_path(request: &PageRequest) -> Result<String, Error> {
    Ok(format!("/projects/{}", request.target().text(0)?))
}

/// The target of the operations on a note, which do not name its project.
fn note_target(request: &PageRequest) -> Result<Target, Error> {
    Ok(Target(vec![request.target().text(1)?]))
}

fn with_texts(form: ProjectForm, title: &str, body: &str, is_pinned: bool) -> ProjectForm {
    form.field(
        "title",
        "projects-note-title",
        ProjectFieldKind::Line(title.to_owned(), MAX_TITLE_CHARS),
        None,
    )
    .field("bodyMd", "projects-note-body", ProjectFieldKind::Text(body.to_owned(), MAX_BODY_CHARS), None)
    .field(
        "pinned",
        "projects-note-pinned",
        ProjectFieldKind::Check(is_pinned),
        Some("projects-note-hint"),
    )
}

/// Shows the form of a new note.
pub async fn show_new(request: PageRequest) -> Result<HttpResponse, Error> {
    super::edit::load(&request).await?;
    new_form(&request)?.show(&request, StatusCode::OK, FormFaults::default()).await
}

fn new_form(request: &PageRequest) -> Result<ProjectForm, Error> {
    let path = project_path(request)?;
    let form = ProjectForm::new("projects-note-new", format!("{path}/notes"), "projects-note-add", path);
    let (title, body) = (request.form.text("title"), request.form.text("bodyMd"));
    with_texts(form, title, body, request.form.has("pinned")).with_ticket()
}

/// Writes a note.
pub async fn create(request: PageRequest) -> Result<HttpResponse, Error> {
    let create = async {
        request.run_form::<WriteNote>(&request.target(), &["title", "bodyMd", "pinned"]).await?;
        Ok::<_, Error>(FormOutcome {
            path: project_path(&request)?,
            message: Some(DoneMessage::new("projects-note-added")),
        })
    };
    match request.create_once(create).await {
        Ok(response) => Ok(response),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            new_form(&request)?.show(&request, status, faults).await
        }
    }
}

/// Loads the note of the address, which is one of the project.
async fn load(request: &PageRequest) -> Result<NoteView, Error> {
    let project: ProjectId = request.target().id(0)?;
    let note = request.run(ShowNote::from_request(&note_target(request)?, NoFields {})?).await?.note;
    if note.project_id == Some(project) { Ok(note) } else { Err(Error::not_found()) }
}

fn change_form(request: &PageRequest, note: &NoteView) -> Result<ProjectForm, Error> {
    let path = project_path(request)?;
    let own = format!("{path}/notes/{}", note.note_id);
    let mut form = ProjectForm::new("projects-note-edit", own.clone(), "projects-save", path);
    form.delete = Some(format!("{own}/delete"));
    Ok(form.marked(note_mark(note)))
}

fn note_mark(note: &NoteView) -> String {
    mark_of(&[&note.title, &note.body_md])
}

/// Shows the form that changes a note.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let note = load(&request).await?;
    let form = change_form(&request, &note)?;
    with_texts(form, &note.title, &note.body_md, note.pinned)
        .show(&request, StatusCode::OK, FormFaults::default())
        .await
}

/// Changes a note.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let note = load(&request).await?;
    let (title, is_pinned) = (request.form.text("title"), request.form.has("pinned"));
    let body = request.form.text("bodyMd").replace("\r\n", "\n");
    let again = |form: ProjectForm| with_texts(form, title, &body, is_pinned);
    if is_outdated(&request, &note_mark(&note)) {
        let mut form = change_form(&request, &note)?;
        form.other_version = Some(format!("{}\n\n{}", note.title, note.body_md));
        return again(form).show(&request, StatusCode::CONFLICT, FormFaults::default()).await;
    }
    let object = json!({ "title": title, "bodyMd": body, "pinned": is_pinned });
    match request.run_json::<ChangeNote>(&note_target(&request)?, object).await {
        Ok(_) => request.done(&project_path(&request)?, DoneMessage::new("projects-saved")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            again(change_form(&request, &note)?).show(&request, status, faults).await
        }
    }
}

/// Pins a note, or takes its pin away.
pub async fn pin(request: PageRequest) -> Result<HttpResponse, Error> {
    load(&request).await?;
    request.run_form::<ChangeNote>(&note_target(&request)?, &["pinned"]).await?;
    Ok(request.redirect(&request.back(&project_path(&request)?)))
}

/// Deletes a note.
pub async fn delete(request: PageRequest) -> Result<HttpResponse, Error> {
    load(&request).await?;
    request.run(DeleteNote::from_request(&note_target(&request)?, NoFields {})?).await?;
    request.done(&project_path(&request)?, DoneMessage::new("projects-note-deleted"))
}
