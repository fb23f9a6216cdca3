//! Saves pages, notes and files: the target of the button, of the bookmarklet and of the share sheet.

mod addresses;
mod outcome;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use actors::operations::bookmarks::BookmarkView;
use actors::operations::collections::CollectionNode;
use actors::operations::projects::WriteNote;
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::json;

use super::collections::load_tree;
use super::library::active_projects;
use super::page::done::DoneMessage;
use super::page::faults::FormFaults;
use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::sent_forms::FormOutcome;
use super::page::shell::{NavigationEntry, Shell};
use super::page::tickets::new_ticket;
use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::strings::MessageValue;

use addresses::{MAX_ADDRESSES, find_addresses};
use outcome::{AddedPage, check_addresses, refuse_lines, save_addresses};

/// The longest title of a note.
const MAX_NOTE_TITLE_CHARS: usize = 300;
/// Bytes of a form with a note.
const MAX_ADD_BYTES: usize = 1 << 20;

/// The form.
#[derive(Template)]
#[template(path = "add/add.html", blocks = ["dialog", "found"])]
struct AddPage {
    shell: Shell,
    locale: Locale,
    /// `pages`, `note` or `files`.
    what: &'static str,
    /// The addresses, one a line.
    urls: String,
    /// A title for a single address.
    title: String,
    tags: String,
    collection: String,
    collections: Vec<CollectionNode>,
    /// What is known about the addresses, or what became of them.
    found: Vec<AddedPage>,
    /// Whether `found` says what became of the addresses.
    is_done: bool,
    /// Addresses and lines beyond the most.
    left_out: usize,
    note: String,
    project: String,
    projects: Vec<(String, String)>,
    /// Bytes that a file may have.
    largest_bytes: u64,
    /// The ticket of the form of a note.
    ticket: String,
    faults: FormFaults,
}

parts!(AddPage { "dialog" => as_dialog, "add-found" => as_found });

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/add").max_form_bytes(MAX_ADD_BYTES).get(show).post(add).mount(config);
}

impl AddPage {
    fn max_addresses(&self) -> usize {
        MAX_ADDRESSES
    }

    fn largest(&self) -> String {
        self.locale.bytes(self.largest_bytes)
    }

    fn saved_on(&self, bookmark: &BookmarkView) -> String {
        self.locale.date(bookmark.saved_at)
    }
}

/// Shows the form. A share sheet sends the address as `url` or within `text`.
async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let fields = &request.query;
    let mut found = find_addresses(&["url", "urls"].map(|name| fields.text(name)).join("\n"));
    found.add_shared(fields.text("text"));
    let what = match fields.text("what") {
        "note" => "note",
        "files" => "files",
        _ => "pages",
    };
    // A share without an address is a note.
    let is_text = found.urls.is_empty() && !fields.text("text").trim().is_empty();
    let mut page = empty(&request, if is_text { "note" } else { what }).await?;
    page.found = check_addresses(&request, &found.urls).await?;
    page.found.extend(refuse_lines(&found.refused, request.locale()));
    page.left_out = found.left_out;
    page.urls = [found.urls, found.refused].concat().join("\n");
    page.title = fields.text("title").to_owned();
    page.tags = fields.text("tags").to_owned();
    if is_text {
        page.note = fields.text("text").to_owned();
    }
    request.show(&page)
}

async fn empty(request: &PageRequest, what: &'static str) -> Result<AddPage, Error> {
    // A script asks for what is known about the addresses while they are typed.
    let has_collections = what != "note" && request.wants::<AddPage>("dialog");
    let text = |name: &str| request.form.text(name).to_owned();
    Ok(AddPage {
        shell: request.shell(NavigationEntry::Library).await?,
        locale: request.locale().clone(),
        what,
        urls: text("urls"),
        title: text("title"),
        tags: text("tags"),
        collection: text("collection"),
        collections: if has_collections { load_tree(request).await? } else { Vec::new() },
        found: Vec::new(),
        is_done: false,
        left_out: 0,
        note: text("note"),
        project: text("project"),
        projects: if what == "note" { active_projects(request).await? } else { Vec::new() },
        largest_bytes: request.ctx.core.plans.limits(request.viewer.caller.plan).upload_bytes,
        ticket: if what == "note" { new_ticket()? } else { String::new() },
        faults: FormFaults::default(),
    })
}

/// Saves what the form holds.
async fn add(request: PageRequest) -> Result<HttpResponse, Error> {
    match request.form.text("what") {
        "note" => add_note(&request).await,
        _ => add_pages(&request).await,
    }
}

/// Saves the addresses. If all are new, redirects; otherwise the page shows the result of each.
async fn add_pages(request: &PageRequest) -> Result<HttpResponse, Error> {
    let found = find_addresses(request.form.text("urls"));
    if found.urls.is_empty() && found.refused.is_empty() {
        let mut page = empty(request, "pages").await?;
        page.faults.add("urls", request.locale().t("add-no-address"));
        return request.show_with_status(StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    let saved = match save_addresses(request, &found.urls).await {
        Ok(saved) => saved,
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            let page = AddPage { faults, ..empty(request, "pages").await? };
            return request.show_with_status(status, &page);
        }
    };
    if found.left_out == 0 && found.refused.is_empty() && saved.iter().all(AddedPage::is_saved) {
        let count = i64::try_from(saved.len()).unwrap_or(i64::MAX);
        let message = DoneMessage::new("add-done").with("count", MessageValue::Number(count));
        return request.done(&request.back("/library"), message);
    }
    let mut page = empty(request, "pages").await?;
    // The field keeps the lines that are to be corrected.
    page.urls = found.refused.join("\n");
    page.found = saved;
    page.found.extend(refuse_lines(&found.refused, request.locale()));
    page.is_done = true;
    page.left_out = found.left_out;
    let is_any_saved = page.found.iter().any(|page| page.is_saved() || page.is_known());
    let status = if is_any_saved { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    request.show_with_status(status, &page)
}

/// Writes a note in a project.
async fn add_note(request: &PageRequest) -> Result<HttpResponse, Error> {
    let project = request.form.text("project").to_owned();
    let text = request.form.text("note");
    let title = request.form.text("title").trim();
    // A note has a title: the user's, or else its first line.
    let first = text.trim_start().lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let title = if title.is_empty() { first } else { title };
    let title: String = title.chars().take(MAX_NOTE_TITLE_CHARS).collect();
    let note = json!({ "title": title, "bodyMd": text });
    let target = Target(vec![project.clone()]);
    let create = async {
        request.run_json::<WriteNote>(&target, note).await?;
        let message = Some(DoneMessage::new("add-note-done"));
        Ok::<_, Error>(FormOutcome { path: format!("/projects/{project}?part=notes"), message })
    };
    match request.create_once(create).await {
        Ok(response) => Ok(response),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            let page = AddPage { faults, ..empty(request, "note").await? };
            request.show_with_status(status, &page)
        }
    }
}
