//! What the forms of questions offer: the parts of the library, and what is left of the answers of the month.

use actors::operations::ask_threads::{AskScopeView, AskStateResponse, ScopeKind, ShowAskState};
use actors::operations::projects::{ListProjects, ProjectView};
use actors::target::Target;
use errors::{Error, code};
use serde_json::json;
use values::time::Timestamp;

use crate::web::page::request::PageRequest;

/// Projects that the forms offer: those that were active last.
const OFFERED_PROJECTS: u32 = 50;

/// An entry of a select field.
#[derive(Clone, Debug)]
pub struct AskScopeChoice {
    /// The value.
    pub value: String,
    /// Its name.
    pub name: String,
    /// Whether it is chosen.
    pub is_chosen: bool,
}

/// Returns the active projects that forms offer, the one active last first.
///
/// # Errors
/// The error of the operation.
pub async fn offered_projects(request: &PageRequest) -> Result<Vec<ProjectView>, Error> {
    let listed =
        request.run_json::<ListProjects>(&Target::default(), json!({ "limit": OFFERED_PROJECTS })).await?;
    Ok(listed.projects)
}

/// Returns the parts of the library that can be asked; the chosen one is among them.
pub fn scopes(chosen: &AskScopeView, projects: &[ProjectView], request: &PageRequest) -> Vec<AskScopeChoice> {
    let whole = AskScopeChoice {
        value: "all".to_owned(),
        name: request.locale().t("ask-scope-all"),
        is_chosen: chosen.scope == "all",
    };
    let mut scopes = vec![whole];
    scopes.extend(projects.iter().map(|project| {
        let value = format!("project:{}", project.id);
        AskScopeChoice { is_chosen: value == chosen.scope, value, name: project.name.clone() }
    }));
    if scopes.iter().all(|scope| !scope.is_chosen) {
        let name = scope_name(chosen, request);
        scopes.insert(1, AskScopeChoice { value: chosen.scope.clone(), name, is_chosen: true });
    }
    scopes
}

/// Returns the name of a part of the library.
pub fn scope_name(scope: &AskScopeView, request: &PageRequest) -> String {
    use crate::web::strings::ToMessageValue;
    let locale = request.locale();
    match (scope.kind, &scope.name) {
        (ScopeKind::All, _) => locale.t("ask-scope-all"),
        (ScopeKind::Picked, _) => {
            let count = scope.picked.unwrap_or_default();
            locale.t_with("ask-scope-picked", &[("count", count.to_message_value())])
        }
        (ScopeKind::Collection | ScopeKind::Project, Some(name)) => name.clone(),
        (ScopeKind::Collection, None) => locale.t("ask-scope-collection-gone"),
        (ScopeKind::Project, None) => locale.t("ask-scope-project-gone"),
    }
}

/// Returns the address of a part of the library, if it has one.
pub fn scope_path(scope: &AskScopeView) -> Option<String> {
    let id = scope.scope.split_once(':').map(|(_, id)| id);
    match (scope.kind, &scope.name, id) {
        (ScopeKind::Collection, Some(_), Some(id)) => Some(format!("/collections/{id}")),
        (ScopeKind::Project, Some(_), Some(id)) => Some(format!("/projects/{id}")),
        (ScopeKind::All | ScopeKind::Picked | ScopeKind::Collection | ScopeKind::Project, _, _) => None,
    }
}

/// What is left of the answers of the month, and why no question can be asked now.
pub struct AskBudgetView {
    /// Answers of this month.
    pub answers: i64,
    /// The plan's maximum.
    pub limit: u32,
    /// The keys of the heading and of the text of the refusal, if questions are refused now.
    pub refusal: Option<(&'static str, &'static str)>,
    /// Until when.
    pub until: Timestamp,
}

impl AskBudgetView {
    /// Returns the view of the state.
    pub fn new(state: &AskStateResponse) -> Self {
        let refusal = state.refusal.map(|refusal| match (refusal, state.limit) {
            (code::AI_PAUSED, _) => ("ask-paused", "ask-paused-text"),
            (code::PLAN_LIMIT_REACHED, 0) => ("ask-not-in-plan", "ask-not-in-plan-text"),
            (code::PLAN_LIMIT_REACHED, _) => ("ask-used-up", "ask-used-up-text"),
            _ => ("ask-quota", "ask-quota-text"),
        });
        Self {
            answers: state.answers,
            limit: state.limit,
            refusal,
            until: state.paused_until.unwrap_or(state.resets_at),
        }
    }
}

/// Returns the state of a part of the library; of the whole one, if the part does not exist in this form.
///
/// # Errors
/// The error of the operation.
pub async fn ask_state(request: &PageRequest, scope: &str) -> Result<AskStateResponse, Error> {
    let object = if scope.is_empty() { json!({}) } else { json!({ "scope": scope }) };
    match request.run_json::<ShowAskState>(&Target::default(), object).await {
        Err(Error::Invalid(_)) => request.run_json::<ShowAskState>(&Target::default(), json!({})).await,
        state => state,
    }
}
