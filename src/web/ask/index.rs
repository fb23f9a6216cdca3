//! The page of a new question, with the recent ones.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::ask_threads::{ListThreads, ThreadSummary};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::json;
use values::kind::QuestionState;
use values::time::Timestamp;

use super::options::{AskBudgetView, AskScopeChoice, ask_state, offered_projects, scope_name, scopes};
use crate::parts;
use crate::web::filters;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::page::tickets::new_ticket;

/// Questions that the page lists at first.
const RECENT_QUESTIONS: u32 = 5;
/// Questions on a page of all.
const LISTED_QUESTIONS: u32 = 20;

/// The page of a new question.
#[derive(Template)]
#[template(path = "ask/ask.html", blocks = ["recent"])]
struct AskPage {
    shell: Shell,
    budget: AskBudgetView,
    scopes: Vec<AskScopeChoice>,
    question: String,
    recent: Vec<RecentView>,
    /// The address of further questions.
    more: Option<String>,
    ticket: String,
    faults: FormFaults,
}

parts!(AskPage { "recent" => as_recent });

/// A question in the list.
struct RecentView {
    href: String,
    title: String,
    scope: String,
    questions: usize,
    /// The key of the state, unless it is answered.
    state: Option<&'static str>,
    asked_at: Timestamp,
}

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    page(&request, StatusCode::OK, FormFaults::default()).await
}

/// Shows the page, also after a form with faults: it keeps what was written.
pub async fn page(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let sent = |name: &str| request.form.get(name).or_else(|| request.query.get(name)).unwrap_or_default();
    // The palette and the search name what was typed `q`.
    let typed = Some(sent("question")).filter(|question| !question.is_empty()).unwrap_or_else(|| sent("q"));
    let state = ask_state(request, sent("scope")).await?;
    let projects = offered_projects(request).await?;
    let lists_all = request.query.get("recent") == Some("all");
    let limit = if lists_all { LISTED_QUESTIONS } else { RECENT_QUESTIONS };
    let cursor = request.query.get("cursor").filter(|_| lists_all);
    let fields = match cursor {
        Some(cursor) => json!({ "limit": limit, "cursor": cursor }),
        None => json!({ "limit": limit }),
    };
    let listed = request.run_json::<ListThreads>(&Target::default(), fields).await?;
    let more = listed.next_cursor.map(|cursor| {
        let cursor = if lists_all { format!("&cursor={cursor}") } else { String::new() };
        format!("/ask?recent=all{cursor}")
    });
    let recent = listed.threads.into_iter().map(|thread| RecentView::new(thread, request)).collect();
    request.show_with_status(
        status,
        &AskPage {
            shell: request.shell(NavigationEntry::Ask).await?,
            budget: AskBudgetView::new(&state),
            scopes: scopes(&state.scope, &projects, request),
            question: typed.to_owned(),
            recent,
            more,
            ticket: new_ticket()?,
            faults,
        },
    )
}

impl RecentView {
    fn new(thread: ThreadSummary, request: &PageRequest) -> Self {
        Self {
            href: format!("/ask/{}", thread.thread_id),
            scope: scope_name(&thread.scope, request),
            title: thread.title,
            questions: thread.question_count,
            state: match thread.state {
                QuestionState::Waiting => Some("ask-state-waiting"),
                QuestionState::Answered => None,
                QuestionState::Failed => Some("ask-state-failed"),
            },
            asked_at: thread.asked_at,
        }
    }
}
