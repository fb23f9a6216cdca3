//! Home: what to continue, what is new and what was saved; for a new user four ways to start.

mod rows;
mod start;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::home::{HomeResponse, ListLastSaved, ShowHome};
use actors::operations::projects::ProjectView;
use actors::operations::work::RetryWork;
use actors::target::Target;
use askama::Template;
use errors::Error;
use values::time::Timestamp;

use super::notices::NoticeRow;
use super::page::done::DoneMessage;
use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::places::highlight_path;
use crate::web::strings::MessageValue::{Number, Text};

pub(in crate::web) use rows::visit_words;
use rows::{ContinuedRow, EntryLine, SavedRow};

/// Minutes for which the library offers what can be read.
const OFFERED_MINUTES: [u32; 3] = [10, 25, 60];
/// The number from which the counts of the home page are no longer exact.
const MAX_COUNT: usize = 100;

/// The first page of a user.
#[derive(Template)]
#[template(path = "home/home.html", blocks = ["again", "saved"])]
struct HomePage {
    shell: Shell,
    today: Timestamp,
    offered_minutes: [u32; 3],
    first: Option<ContinuedRow>,
    others: Vec<ContinuedRow>,
    started: Option<String>,
    entries: Vec<EntryLine>,
    new_entries: Option<String>,
    saved: Vec<SavedRow>,
    is_waiting: bool,
    highlight: Option<DayHighlight>,
    projects: Vec<ProjectView>,
    notices: Vec<NoticeRow>,
}

parts!(HomePage { "part-again" => as_again, "part-saved" => as_saved });

/// The highlight of the day.
struct DayHighlight {
    text: String,
    note: Option<String>,
    color: &'static str,
    href: String,
    title: String,
    marked: Timestamp,
    /// The number that shows another one.
    next_turn: u32,
}

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/").get(show).mount(config);
    PageRoute::new("/home/retry").post(retry).mount(config);
    start::mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let turn = request.query.get("turn").and_then(|turn| turn.parse().ok()).unwrap_or_default();
    let home = load(&request, turn).await?;
    let shell = request.shell(NavigationEntry::Home).await?;
    if let Some(onboarding) = home.onboarding {
        return start::show(&request, shell, onboarding);
    }
    request.show(&page(&request, shell, home, turn))
}

/// Reads what the requested parts show. While a text is being made, a script asks for what was saved last every few seconds.
async fn load(request: &PageRequest, turn: u32) -> Result<HomeResponse, Error> {
    if request.wants::<HomePage>("part-again") {
        return request.run(ShowHome::with_turn(turn)).await;
    }
    let saved = request.run(ListLastSaved).await?.saved;
    Ok(HomeResponse { saved, ..HomeResponse::default() })
}

/// Tries to read a document again whose text could not be made.
async fn retry(request: PageRequest) -> Result<HttpResponse, Error> {
    let document = Target(vec![request.form.text("document").to_owned()]);
    request.run_form::<RetryWork>(&document, &[]).await?;
    request.done("/", DoneMessage::new("home-retried"))
}

fn page(request: &PageRequest, shell: Shell, home: HomeResponse, turn: u32) -> HomePage {
    let locale = request.locale();
    let mut continued = home.continued.into_iter().map(|view| ContinuedRow::new(view, request));
    let first = continued.next();
    let others = continued.collect();
    let saved: Vec<SavedRow> = home.saved.into_iter().map(SavedRow::from).collect();
    HomePage {
        shell,
        today: locale.now,
        offered_minutes: OFFERED_MINUTES,
        first,
        others,
        started: count_text(locale, home.continued_count),
        entries: home.new_entries.into_iter().map(EntryLine::from).collect(),
        new_entries: new_entries_text(locale, home.new_entry_count, home.last_visit_at),
        is_waiting: saved.iter().any(|row| row.is_processing),
        saved,
        highlight: home.highlight.map(|view| DayHighlight {
            href: highlight_path(view.document_id, view.start_offset, view.end_offset),
            color: rows::highlight_color(view.color.as_deref()),
            text: view.text,
            note: view.note,
            title: view.title,
            marked: view.created_at,
            next_turn: turn.saturating_add(1),
        }),
        projects: home.projects,
        notices: home.notices.into_iter().map(|view| NoticeRow::new(view, locale)).collect(),
    }
}

/// Returns a number of the home page, which is exact below 100; `None` for zero.
fn count_text(locale: &Locale, count: usize) -> Option<String> {
    match count {
        0 => None,
        MAX_COUNT.. => Some(format!("{}+", locale.number(99))),
        _ => Some(locale.number(i64::try_from(count).unwrap_or(i64::MAX))),
    }
}

/// Returns how many entries arrived since the last visit; `None` if there are none, or there was no visit.
fn new_entries_text(locale: &Locale, count: usize, last_visit_at: Option<Timestamp>) -> Option<String> {
    let at = last_visit_at?;
    let number = count_text(locale, count)?;
    let count = Number(i64::try_from(count).unwrap_or(i64::MAX));
    let values = [("count", count), ("number", Text(number)), ("visit", Text(visit_words(locale, at)))];
    Some(locale.t_with("home-new-since", &values))
}
