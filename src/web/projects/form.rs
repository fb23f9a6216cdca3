//! The page of a form of a project. A script shows it as a dialog.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use errors::Error;

use crate::parts;
use crate::web::filters;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::page::tickets::new_ticket;

/// A form.
pub struct ProjectForm {
    /// The key of the heading.
    pub title: &'static str,
    /// The address to which it is posted.
    pub action: String,
    /// The key of the label of its button.
    pub submit: &'static str,
    /// Whether its button destroys something.
    pub is_risk: bool,
    /// The key of a sentence above the fields.
    pub lead: Option<&'static str>,
    /// The fields.
    pub fields: Vec<ProjectField>,
    /// The address to which the user goes back.
    pub back: String,
    /// The mark of what the form was made from.
    pub mark: String,
    /// The ticket of a form that creates something; empty for others.
    pub ticket: String,
    /// The text that was saved from another tab after this form was loaded; `None` without such a change.
    pub other_version: Option<String>,
    /// The address of a form that deletes, below this one.
    pub delete: Option<String>,
}

/// A field of a form.
pub struct ProjectField {
    /// The name.
    pub name: &'static str,
    /// The key of the label.
    pub label: &'static str,
    /// What it holds.
    pub kind: ProjectFieldKind,
    /// The key of a hint.
    pub hint: Option<&'static str>,
}

/// What a field holds.
pub enum ProjectFieldKind {
    /// One line: its value and its maximum length.
    Line(String, u32),
    /// A text: its value and its maximum length.
    Text(String, u32),
    /// A box that is ticked or not.
    Check(bool),
    /// One of a few values: each with the key of its name, and whether it is chosen.
    Choice(Vec<(&'static str, &'static str, bool)>),
}

/// The page of a form.
#[derive(Template)]
#[template(path = "projects/form.html", blocks = ["dialog"])]
struct ProjectFormPage {
    shell: Shell,
    form: ProjectForm,
    faults: FormFaults,
}

parts!(ProjectFormPage { "dialog" => as_dialog });

impl ProjectForm {
    /// Returns a form without fields.
    pub fn new(title: &'static str, action: String, submit: &'static str, back: String) -> Self {
        Self {
            title,
            action,
            submit,
            is_risk: false,
            lead: None,
            fields: Vec::new(),
            back,
            mark: String::new(),
            ticket: String::new(),
            other_version: None,
            delete: None,
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn field(
        mut self,
        name: &'static str,
        label: &'static str,
        kind: ProjectFieldKind,
        hint: Option<&'static str>,
    ) -> Self {
        self.fields.push(ProjectField { name, label, kind, hint });
        self
    }

    /// Adds the mark of these texts.
    #[must_use]
    pub fn marked(mut self, mark: String) -> Self {
        self.mark = mark;
        self
    }

    /// Gives the form a ticket: sent twice, it creates one thing.
    ///
    /// # Errors
    /// [`Error::Internal`] when the system gives no random bytes.
    pub fn with_ticket(self) -> Result<Self, Error> {
        Ok(Self { ticket: new_ticket()?, ..self })
    }

    /// Shows the form.
    ///
    /// # Errors
    /// The error of what stands around the page.
    pub async fn show(
        self,
        request: &PageRequest,
        status: StatusCode,
        faults: FormFaults,
    ) -> Result<HttpResponse, Error> {
        let shell = request.shell(NavigationEntry::Projects).await?;
        request.show_with_status(status, &ProjectFormPage { shell, form: self, faults })
    }
}

/// Returns whether the form was made from something else than what there is now.
pub fn is_outdated(request: &PageRequest, mark: &str) -> bool {
    request.form.get("mark").is_some_and(|sent| sent != mark)
}
