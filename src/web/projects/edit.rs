//! Creates, changes, archives and deletes a project.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operation::FromRequest;
use actors::operations::projects::{
    ChangeProject, CreateProject, DeleteProject, ProjectDetails, ShowProject,
};
use actors::target::Target;
use errors::Error;
use serde_json::{Value, json};
use validation::NoFields;
use values::kind::ProjectStatus;

use super::conflict::mark_of;
use super::form::{ProjectFieldKind, ProjectForm, is_outdated};
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::sent_forms::FormOutcome;
use crate::web::strings::ToMessageValue;

const MAX_NAME_CHARS: u32 = 300;
const MAX_DESCRIPTION_CHARS: u32 = 100_000;
const MAX_INSTRUCTIONS_CHARS: u32 = 20_000;

/// Loads the project of the address.
pub async fn load(request: &PageRequest) -> Result<ProjectDetails, Error> {
    // Of the ids in the path only the first.
    let target = Target(vec![request.target().text(0)?]);
    Ok(request.run(ShowProject::from_request(&target, NoFields {})?).await?.project)
}

/// Shows the form of a new project.
pub async fn show_new(request: PageRequest) -> Result<HttpResponse, Error> {
    new_form(&request)?.show(&request, StatusCode::OK, FormFaults::default()).await
}

fn new_form(request: &PageRequest) -> Result<ProjectForm, Error> {
    let form =
        ProjectForm::new("projects-new", "/projects".to_owned(), "projects-create", "/projects".to_owned());
    let form = with_texts(
        form,
        request.form.text("name"),
        request.form.text("description"),
        request.form.text("instructions"),
    );
    form.with_ticket()
}

fn with_texts(form: ProjectForm, name: &str, description: &str, instructions: &str) -> ProjectForm {
    let line = ProjectFieldKind::Line(name.to_owned(), MAX_NAME_CHARS);
    let about = ProjectFieldKind::Text(description.to_owned(), MAX_DESCRIPTION_CHARS);
    let rules = ProjectFieldKind::Text(instructions.to_owned(), MAX_INSTRUCTIONS_CHARS);
    form.field("name", "projects-name", line, None)
        .field("description", "projects-description", about, Some("projects-description-hint"))
        .field("instructions", "projects-instructions", rules, Some("projects-instructions-hint"))
}

/// Creates a project.
pub async fn create(request: PageRequest) -> Result<HttpResponse, Error> {
    let create = async {
        let fields = ["name", "description", "instructions"];
        let created = request.run_form::<CreateProject>(&Target::default(), &fields).await?;
        Ok::<_, Error>(FormOutcome { path: path_of(&created.project), message: None })
    };
    match request.create_once(create).await {
        Ok(response) => Ok(response),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            new_form(&request)?.show(&request, status, faults).await
        }
    }
}

/// Shows the form that changes a project.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let project = load(&request).await?;
    let (view, description) = (&project.view, project.view.description.clone().unwrap_or_default());
    let form = change_form(&project);
    with_texts(form, &view.name, &description, &project.instructions)
        .show(&request, StatusCode::OK, FormFaults::default())
        .await
}

fn path_of(project: &ProjectDetails) -> String {
    format!("/projects/{}", project.view.id)
}

fn change_form(project: &ProjectDetails) -> ProjectForm {
    let path = path_of(project);
    ProjectForm::new("projects-edit", format!("{path}/edit"), "projects-save", path)
        .marked(project_mark(project))
}

fn project_mark(project: &ProjectDetails) -> String {
    let description = project.view.description.as_deref().unwrap_or_default();
    mark_of(&[&project.view.name, description, &project.instructions])
}

/// Changes the texts of a project.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let project = load(&request).await?;
    let sent = |name: &str| request.form.text(name).replace("\r\n", "\n");
    let (name, description, instructions) = (sent("name"), sent("description"), sent("instructions"));
    let again = |form: ProjectForm| with_texts(form, &name, &description, &instructions);
    if is_outdated(&request, &project_mark(&project)) {
        let mut form = change_form(&project);
        let about = project.view.description.as_deref().unwrap_or_default();
        form.other_version =
            Some([project.view.name.as_str(), about, project.instructions.as_str()].join("\n\n"));
        return again(form).show(&request, StatusCode::CONFLICT, FormFaults::default()).await;
    }
    let about = if description.is_empty() { Value::Null } else { json!(description) };
    let object = json!({ "name": name, "description": about, "instructions": instructions });
    match request.run_json::<ChangeProject>(&request.target(), object).await {
        Ok(_) => request.done(&path_of(&project), DoneMessage::new("projects-saved")),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            again(change_form(&project)).show(&request, status, faults).await
        }
    }
}

/// Archives a project, or makes it active again.
pub async fn change_status(request: PageRequest) -> Result<HttpResponse, Error> {
    let changed = request.run_form::<ChangeProject>(&request.target(), &["status"]).await?;
    let (key, before) = match changed.project.view.status {
        ProjectStatus::Archived => ("projects-is-archived", "active"),
        ProjectStatus::Active => ("projects-is-active", "archived"),
    };
    let path = path_of(&changed.project);
    let message = DoneMessage::new(key).undo(format!("{path}/status"), &[("status", before)]);
    request.done(&path, message)
}

/// Asks whether a project is to be deleted.
pub async fn show_delete(request: PageRequest) -> Result<HttpResponse, Error> {
    let project = load(&request).await?;
    let path = path_of(&project);
    let mut form = ProjectForm::new("projects-delete", format!("{path}/delete"), "projects-delete", path);
    form.lead = Some("projects-delete-text");
    form.is_risk = true;
    form.show(&request, StatusCode::OK, FormFaults::default()).await
}

/// Deletes a project.
pub async fn delete(request: PageRequest) -> Result<HttpResponse, Error> {
    let project = load(&request).await?;
    request.run(DeleteProject::from_request(&request.target(), NoFields {})?).await?;
    let name = project.view.name.to_message_value();
    request.done("/projects", DoneMessage::new("projects-deleted").with("name", name))
}
