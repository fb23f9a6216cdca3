//! The page of a thread: its questions, their answers, and the source that is open.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actors::operations::ask_threads::{ShowThread, ThreadView, answer_markdown};
use actors::operations::projects::ProjectView;
use askama::Template;
use errors::Error;
use values::kind::QuestionState;
use values::time::Timestamp;

use super::answer_language::translate_answer;
use super::options::{AskBudgetView, ask_state, offered_projects, scope_name, scope_path};
use super::panel::SourcePanel;
use super::view::{OpenCitation, TurnView};
use crate::parts;
use crate::web::filters;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::page::tickets::new_ticket;

/// Questions that a thread can have.
const MAX_THREAD_QUESTIONS: usize = 20;

/// The page of a thread.
#[derive(Template)]
#[template(path = "ask/thread.html", blocks = ["thread", "side", "composer"])]
struct ThreadPage {
    shell: Shell,
    path: String,
    title: String,
    scope: String,
    scope_path: Option<String>,
    asked_at: Timestamp,
    turns: Vec<TurnView>,
    is_waiting: bool,
    panel: Option<SourcePanel>,
    budget: AskBudgetView,
    projects: Vec<ProjectView>,
    /// The project that the forms for saving choose.
    chosen_project: String,
    is_full: bool,
    question: String,
    /// The ticket of the forms that ask on and that save an answer.
    ticket: String,
    faults: FormFaults,
}

parts!(ThreadPage { "thread" => as_thread, "side" => as_side, "composer" => as_composer });

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    page(&request, StatusCode::OK, FormFaults::default()).await
}

/// Shows the page, also after a form with faults.
pub async fn page(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let thread = load(request).await?;
    let open = open_citation(request);
    let panel = SourcePanel::load(request, &thread, open).await?;
    let open = open.filter(|_| panel.is_some());
    let state = ask_state(request, &thread.scope.scope).await?;
    let projects = offered_projects(request).await?;
    let (scope, scope_path) = (scope_name(&thread.scope, request), scope_path(&thread.scope));
    let chosen_project = thread.scope.scope.strip_prefix("project:").unwrap_or_default().to_owned();
    let ThreadView { thread_id, title, questions, asked_at, .. } = thread;
    let is_waiting = questions.iter().any(|question| question.state == QuestionState::Waiting);
    let is_full = questions.len() >= MAX_THREAD_QUESTIONS;
    let turns =
        questions.into_iter().map(|question| TurnView::new(thread_id, question, open, request)).collect();
    request.show_with_status(
        status,
        &ThreadPage {
            shell: request.shell(NavigationEntry::Ask).await?,
            path: format!("/ask/{thread_id}"),
            title,
            scope,
            scope_path,
            asked_at,
            turns,
            is_waiting,
            panel,
            budget: AskBudgetView::new(&state),
            projects,
            chosen_project,
            is_full,
            question: request.form.text("question").to_owned(),
            ticket: new_ticket()?,
            faults,
        },
    )
}

async fn load(request: &PageRequest) -> Result<ThreadView, Error> {
    Ok(request.run(ShowThread(request.target().id(0)?)).await?.thread)
}

/// Returns the citation that the address opens.
fn open_citation(request: &PageRequest) -> Option<OpenCitation> {
    let citation = request.query.get("c")?.parse().ok()?;
    let question = request.query.get("q").map_or(Some(1), |number| number.parse().ok())?;
    Some(OpenCitation { question, citation })
}

/// Sends an answer as a file of Markdown, with its quotes and addresses.
pub async fn markdown(request: PageRequest) -> Result<HttpResponse, Error> {
    let thread = load(&request).await?;
    let number: i32 = request.query.get("q").and_then(|number| number.parse().ok()).unwrap_or(1);
    let question = thread.questions.into_iter().find(|question| question.number == number);
    let question = question.ok_or(Error::not_found())?;
    let answer = translate_answer(question.answer.ok_or(Error::not_found())?, request.locale());
    let not_verified = request.locale().t("ask-not-verified-note");
    let body = answer_markdown(&answer, &request.ctx.core.base_url, &not_verified);
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/markdown; charset=utf-8"))
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"answer.md\""))
        .body(format!("# {}\n\n{body}\n", text::one_line(&question.question))))
}
