//! Decisions of a project: recorded, changed, decided, rejected, deleted.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operation::FromRequest;
use actors::operations::projects::{
    ChangeDecision, CreateDecision, DecisionView, DeleteDecision, ShowDecision,
};
use errors::Error;
use serde_json::json;
use validation::NoFields;
use values::kind::DecisionStatus;

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

fn with_texts(form: ProjectForm, title: &str, body: &str, status: &str) -> ProjectForm {
    let statuses = [
        ("proposed", "projects-proposed"),
        ("decided", "projects-decided"),
        ("rejected", "projects-rejected"),
    ];
    let statuses = statuses.map(|(value, key)| (value, key, value == status)).into();
    form.field(
        "title",
        "projects-decision-title",
        ProjectFieldKind::Line(title.to_owned(), MAX_TITLE_CHARS),
        None,
    )
    .field("body", "projects-decision-body", ProjectFieldKind::Text(body.to_owned(), MAX_BODY_CHARS), None)
    .field(
        "status",
        "projects-decision-status",
        ProjectFieldKind::Choice(statuses),
        Some("projects-decision-hint"),
    )
}

/// Shows the form of a new decision.
pub async fn show_new(request: PageRequest) -> Result<HttpResponse, Error> {
    super::edit::load(&request).await?;
    new_form(&request)?.show(&request, StatusCode::OK, FormFaults::default()).await
}

fn new_form(request: &PageRequest) -> Result<ProjectForm, Error> {
    let path = project_path(request)?;
    let form =
        ProjectForm::new("projects-decision-new", format!("{path}/decisions"), "projects-decision-add", path);
    let status = request.form.get("status").unwrap_or("decided");
    with_texts(form, request.form.text("title"), request.form.text("body"), status).with_ticket()
}

/// Records a decision.
pub async fn create(request: PageRequest) -> Result<HttpResponse, Error> {
    let create = async {
        request.run_form::<CreateDecision>(&request.target(), &["title", "body", "status"]).await?;
        Ok::<_, Error>(FormOutcome {
            path: project_path(&request)?,
            message: Some(DoneMessage::new("projects-decision-added")),
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

async fn load(request: &PageRequest) -> Result<DecisionView, Error> {
    let operation = ShowDecision::from_request(&request.target(), NoFields {})?;
    Ok(request.run(operation).await?.decision)
}

fn change_form(request: &PageRequest, decision: &DecisionView) -> Result<ProjectForm, Error> {
    let path = project_path(request)?;
    let own = format!("{path}/decisions/{}", decision.id);
    let mut form = ProjectForm::new("projects-decision-edit", own.clone(), "projects-save", path);
    form.delete = Some(format!("{own}/delete"));
    Ok(form.marked(decision_mark(decision)))
}

fn decision_mark(decision: &DecisionView) -> String {
    mark_of(&[&decision.title, &decision.body, decision.status.name()])
}

/// Shows the form that changes a decision.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let decision = load(&request).await?;
    let form = change_form(&request, &decision)?;
    with_texts(form, &decision.title, &decision.body, decision.status.name())
        .show(&request, StatusCode::OK, FormFaults::default())
        .await
}

/// Changes a decision.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let decision = load(&request).await?;
    let (title, status) = (request.form.text("title"), request.form.text("status"));
    let body = request.form.text("body").replace("\r\n", "\n");
    let again = |form: ProjectForm| with_texts(form, title, &body, status);
    if is_outdated(&request, &decision_mark(&decision)) {
        let mut form = change_form(&request, &decision)?;
        form.other_version = Some(format!("{}\n\n{}", decision.title, decision.body));
        return again(form).show(&request, StatusCode::CONFLICT, FormFaults::default()).await;
    }
    let object = json!({ "title": title, "body": body, "status": status });
    match request.run_json::<ChangeDecision>(&request.target(), object).await {
        Ok(_) => request.done(&project_path(&request)?, DoneMessage::new("projects-saved")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            again(change_form(&request, &decision)?).show(&request, status, faults).await
        }
    }
}

/// Decides or rejects a decision.
pub async fn change_status(request: PageRequest) -> Result<HttpResponse, Error> {
    let before = load(&request).await?.status;
    let changed = request.run_form::<ChangeDecision>(&request.target(), &["status"]).await?.decision;
    let key = match changed.status {
        DecisionStatus::Proposed => "projects-is-proposed",
        DecisionStatus::Decided => "projects-is-decided",
        DecisionStatus::Rejected => "projects-is-rejected",
    };
    let path = project_path(&request)?;
    let undo = format!("{path}/decisions/{}/status", changed.id);
    request.done(&path, DoneMessage::new(key).undo(undo, &[("status", before.name())]))
}

/// Deletes a decision.
pub async fn delete(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run(DeleteDecision::from_request(&request.target(), NoFields {})?).await?;
    request.done(&project_path(&request)?, DoneMessage::new("projects-decision-deleted"))
}
