//! Saved searches: the list with their order, and the form that saves one.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::saved_searches::{
    ChangeSavedSearch, CreateSavedSearch, DeleteSavedSearch, ListSavedSearches, PinSavedSearches,
    SavedSearchView,
};
use actors::target::Target;
use askama::Template;
use errors::Error;
use library::query::LibraryQuery;
use serde_json::json;

use super::fault_text::query_fault_text;
use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::sent_forms::FormOutcome;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::page::tickets::new_ticket;

/// The list of saved searches.
#[derive(Template)]
#[template(path = "library/saved.html", blocks = ["saved"])]
struct SavedPage {
    shell: Shell,
    searches: Vec<SavedSearchView>,
}

parts!(SavedPage { "saved-list" => as_saved });

/// The form of a saved search.
#[derive(Template)]
#[template(path = "library/saved_form.html", blocks = ["dialog"])]
struct SavedFormPage {
    shell: Shell,
    /// The address to which the form is sent.
    action: String,
    is_new: bool,
    name: String,
    query: String,
    is_pinned: bool,
    /// The ticket of a form that is new; empty for others.
    ticket: String,
    faults: FormFaults,
}

parts!(SavedFormPage { "dialog" => as_dialog });

/// Shows all saved searches.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let searches = load(&request).await?;
    let shell = request.shell(NavigationEntry::Library).await?;
    request.show(&SavedPage { shell, searches })
}

/// Moves a pinned search up or down, pins it, unpins it, or deletes it.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let form = &request.form;
    let (id, back) = (form.text("id").to_owned(), "/saved-searches");
    let target = Target(vec![id.clone()]);
    match form.text("action") {
        "pin" | "unpin" => {
            let is_pinned = form.text("action") == "pin";
            request.run_json::<ChangeSavedSearch>(&target, json!({ "isPinned": is_pinned })).await?;
            Ok(request.redirect(back))
        }
        "up" | "down" => {
            let is_up = form.text("action") == "up";
            let pinned = load(&request).await?.into_iter().filter(|search| search.is_pinned);
            let ids = moved(pinned.map(|search| search.saved_search_id.to_string()).collect(), &id, is_up);
            request.run_json::<PinSavedSearches>(&Target::default(), json!({ "ids": ids })).await?;
            Ok(request.redirect(back))
        }
        "delete" => {
            request.run_json::<DeleteSavedSearch>(&target, json!({})).await?;
            request.done(back, DoneMessage::new("saved-done-deleted"))
        }
        _ => Err(Error::UnknownRoute),
    }
}

/// Returns the ids with one of them moved by a place.
fn moved(mut ids: Vec<String>, id: &str, is_up: bool) -> Vec<String> {
    if let Some(place) = ids.iter().position(|other| other == id) {
        let other = if is_up { place.saturating_sub(1) } else { place.saturating_add(1) };
        if other < ids.len() {
            ids.swap(place, other);
        }
    }
    ids
}

/// Shows the form for a new saved search.
pub async fn show_new(request: PageRequest) -> Result<HttpResponse, Error> {
    let query = request.query.text("q").to_owned();
    let shell = request.shell(NavigationEntry::Library).await?;
    request.show(&SavedFormPage {
        shell,
        action: "/saved-searches/new".to_owned(),
        is_new: true,
        name: String::new(),
        query,
        is_pinned: true,
        ticket: new_ticket()?,
        faults: FormFaults::default(),
    })
}

/// Saves a search.
pub async fn create(request: PageRequest) -> Result<HttpResponse, Error> {
    let form = &request.form;
    let (name, query, is_pinned) = (form.text("name").trim(), form.text("query"), form.has("pinned"));
    let search = json!({ "name": name, "query": query, "isPinned": is_pinned });
    let create = async {
        let created = request.run_json::<CreateSavedSearch>(&Target::default(), search).await?;
        let query = created.saved_search.query;
        let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let message = Some(DoneMessage::new("saved-done-created"));
        Ok::<_, Error>(FormOutcome { path: format!("/library?q={query}"), message })
    };
    match request.create_once(create).await {
        Ok(response) => Ok(response),
        Err(error) => show_faults(&request, "/saved-searches/new".to_owned(), true, error).await,
    }
}

/// Shows the form of a saved search.
pub async fn show_edit(request: PageRequest) -> Result<HttpResponse, Error> {
    let id = request.target().text(0)?;
    let search = load(&request).await?.into_iter().find(|search| search.saved_search_id.to_string() == id);
    let search = search.ok_or(Error::not_found())?;
    let shell = request.shell(NavigationEntry::Library).await?;
    request.show(&SavedFormPage {
        shell,
        action: format!("/saved-searches/{id}"),
        is_new: false,
        name: search.name,
        query: search.query,
        is_pinned: search.is_pinned,
        ticket: String::new(),
        faults: FormFaults::default(),
    })
}

/// Changes a saved search.
pub async fn edit(request: PageRequest) -> Result<HttpResponse, Error> {
    let form = &request.form;
    let (name, query, is_pinned) = (form.text("name").trim(), form.text("query"), form.has("pinned"));
    let search = json!({ "name": name, "query": query, "isPinned": is_pinned });
    match request.run_json::<ChangeSavedSearch>(&request.target(), search).await {
        Ok(_) => request.done("/saved-searches", DoneMessage::new("saved-done-changed")),
        Err(error) => show_faults(&request, request.http.path().to_owned(), false, error).await,
    }
}

async fn show_faults(
    request: &PageRequest,
    action: String,
    is_new: bool,
    error: Error,
) -> Result<HttpResponse, Error> {
    let (status, mut faults): (StatusCode, FormFaults) = FormFaults::from_error(error, request.locale())?;
    let query = request.form.text("query").to_owned();
    if let Err(fault) = LibraryQuery::parse(&query) {
        faults = FormFaults::default();
        faults.add("query", query_fault_text(fault, request.locale()));
    }
    let shell = request.shell(NavigationEntry::Library).await?;
    let name = request.form.text("name").to_owned();
    let is_pinned = request.form.has("pinned");
    let ticket = if is_new { new_ticket()? } else { String::new() };
    let page = SavedFormPage { shell, action, is_new, name, query, is_pinned, ticket, faults };
    request.show_with_status(status, &page)
}

async fn load(request: &PageRequest) -> Result<Vec<SavedSearchView>, Error> {
    let listed = request.run_json::<ListSavedSearches>(&Target::default(), json!({})).await?;
    Ok(listed.saved_searches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_search_changes_places_with_its_neighbour() {
        let ids = || ["a", "b", "c"].map(str::to_owned).to_vec();

        assert_eq!(moved(ids(), "b", true), ["b", "a", "c"]);
        assert_eq!(moved(ids(), "b", false), ["a", "c", "b"]);
        assert_eq!(moved(ids(), "a", true), ids());
        assert_eq!(moved(ids(), "c", false), ids());
        assert_eq!(moved(ids(), "x", false), ids());
    }
}
