//! Changes of the selected bookmarks, and how they are undone.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::bookmarks::{BulkChangeBookmarks, RefetchBookmark};
use actors::operations::collections::{CollectionNode, ShowCollectionTree};
use actors::operations::projects::{AddItems, ListProjects};
use actors::operations::undo::UndoChange;
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::{Map, Value, json};

use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue;

/// Bookmarks that a form can name. More are selected by their query.
const MAX_FORM_IDS: usize = 1000;
/// Bookmarks that are added to a project, or asked about, at once.
const MAX_SOURCE_BOOKMARKS: usize = 50;

/// The bookmarks that a form selects.
#[derive(Clone, Debug)]
struct FormSelection {
    ids: Vec<String>,
    /// The query whose matches are all selected.
    query: Option<String>,
    back: String,
}

impl FormSelection {
    fn of(request: &PageRequest) -> Self {
        let form = &request.form;
        let query = form.has("all").then(|| form.text("q").to_owned());
        let mut ids: Vec<String> = form.all("id").map(str::to_owned).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.truncate(MAX_FORM_IDS);
        Self { ids, query, back: request.back("/library") }
    }

    fn is_empty(&self) -> bool {
        self.query.is_none() && self.ids.is_empty()
    }

    /// Adds what is selected to a request.
    fn select(&self, request: &mut Map<String, Value>) {
        match &self.query {
            Some(query) => request.insert("q".to_owned(), json!(query)),
            None => request.insert("ids".to_owned(), json!(self.ids)),
        };
    }
}

/// The page that asks for what a change needs: a tag, a collection, or a project.
#[derive(Template)]
#[template(path = "library/bulk.html", blocks = ["dialog"])]
struct BulkPage {
    shell: Shell,
    selection: FormSelection,
    /// `tag`, `collection` or `project`.
    action: &'static str,
    collections: Vec<CollectionNode>,
    projects: Vec<(String, String)>,
    faults: FormFaults,
    typed: String,
}

parts!(BulkPage { "dialog" => as_dialog });

/// Changes the selected bookmarks.
pub async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    if let Some(id) = request.form.get("retry") {
        return retry(&request, id).await;
    }
    let selection = FormSelection::of(&request);
    if selection.is_empty() {
        return request.done(&selection.back, DoneMessage::new("library-done-nothing"));
    }
    match request.form.text("action") {
        "archive" => apply(&request, &selection, "archive", "library-done-archived", None).await,
        "unarchive" => apply(&request, &selection, "unarchive", "library-done-unarchived", None).await,
        "favorite" => apply(&request, &selection, "favorite", "library-done-favorite", None).await,
        "unfavorite" => apply(&request, &selection, "unfavorite", "library-done-unfavorite", None).await,
        "delete" => apply(&request, &selection, "delete", "library-done-deleted", None).await,
        "refetch" => apply(&request, &selection, "refetch", "library-done-refetched", None).await,
        "uncollect" => {
            let collection = ("collectionId", request.form.text("collection").to_owned());
            apply(&request, &selection, "removeFromCollection", "library-done-uncollected", Some(collection))
                .await
        }
        "tag" => change_tag(&request, selection).await,
        "collection" => add_to_collection(&request, selection).await,
        "project" => add_to_project(&request, selection).await,
        "ask" => ask(&request, &selection),
        _ => Err(Error::UnknownRoute),
    }
}

/// Undoes a change.
pub async fn undo(request: PageRequest) -> Result<HttpResponse, Error> {
    let target = Target(vec![request.form.text("token").to_owned()]);
    let back = request.back("/library");
    match request.run_json::<UndoChange>(&target, json!({})).await {
        Ok(undone) if undone.failed > 0 => request
            .done(&back, DoneMessage::new("library-done-undone-part").with("count", number(undone.failed))),
        Ok(_) => request.done(&back, DoneMessage::new("library-done-undone")),
        Err(Error::NotFound(_)) => request.done(&back, DoneMessage::new("library-done-undo-late")),
        Err(error) => Err(error),
    }
}

fn number(count: usize) -> MessageValue {
    MessageValue::Number(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Makes the text of one bookmark again.
async fn retry(request: &PageRequest, id: &str) -> Result<HttpResponse, Error> {
    request.run_json::<RefetchBookmark>(&Target(vec![id.to_owned()]), json!({})).await?;
    let count = MessageValue::Number(1);
    request.done(&request.back("/library"), DoneMessage::new("library-done-refetched").with("count", count))
}

/// Runs a change, and says what it did.
async fn apply(
    request: &PageRequest,
    selection: &FormSelection,
    action: &str,
    key: &'static str,
    field: Option<(&str, String)>,
) -> Result<HttpResponse, Error> {
    let mut change = Map::new();
    change.insert("action".to_owned(), json!(action));
    selection.select(&mut change);
    if let Some((name, value)) = field {
        change.insert(name.to_owned(), json!(value));
    }
    let done = request.run_json::<BulkChangeBookmarks>(&Target::default(), Value::Object(change)).await?;
    let key = if done.is_complete { key } else { "library-done-part" };
    let mut message = DoneMessage::new(key).with("count", number(done.changed));
    if let Some(undo) = done.undo {
        let token = undo.token.to_string();
        message = message.undo("/library/undo", &[("token", &token), ("back", &selection.back)]);
    }
    request.done(&selection.back, message)
}

/// Adds or removes the tag of the form, or asks for it.
async fn change_tag(request: &PageRequest, selection: FormSelection) -> Result<HttpResponse, Error> {
    let tag = request.form.text("tag").trim().trim_start_matches('#').to_owned();
    if !request.form.has("tag") {
        return ask_for("tag", request, selection, FormFaults::default()).await;
    }
    let is_removed = request.form.has("remove");
    let (action, key) =
        if is_removed { ("removeTag", "library-done-untagged") } else { ("addTag", "library-done-tagged") };
    match apply(request, &selection, action, key, Some(("tag", tag))).await {
        Ok(response) => Ok(response),
        Err(error) => {
            let (_, faults) = FormFaults::from_error(error, request.locale())?;
            ask_for("tag", request, selection, faults).await
        }
    }
}

/// Adds the bookmarks to the collection of the form, or asks for it.
async fn add_to_collection(request: &PageRequest, selection: FormSelection) -> Result<HttpResponse, Error> {
    match request.form.get("to") {
        Some(id) => {
            let field = Some(("collectionId", id.to_owned()));
            apply(request, &selection, "addToCollection", "library-done-collected", field).await
        }
        None => ask_for("collection", request, selection, FormFaults::default()).await,
    }
}

/// Adds the bookmarks to the project of the form, or asks for it.
async fn add_to_project(request: &PageRequest, selection: FormSelection) -> Result<HttpResponse, Error> {
    if selection.query.is_some() || selection.ids.len() > MAX_SOURCE_BOOKMARKS {
        return request.done(&selection.back, DoneMessage::new("library-done-too-many"));
    }
    let Some(project) = request.form.get("to") else {
        return ask_for("project", request, selection, FormFaults::default()).await;
    };
    let items: Vec<Value> = selection.ids.iter().map(|id| json!({ "bookmarkId": id })).collect();
    let target = Target(vec![project.to_owned()]);
    match request.run_json::<AddItems>(&target, json!({ "items": items })).await {
        Ok(_) => {
            let message = DoneMessage::new("library-done-project").with("count", number(selection.ids.len()));
            request.done(&selection.back, message)
        }
        Err(error) => {
            let (_, faults) = FormFaults::from_error(error, request.locale())?;
            ask_for("project", request, selection, faults).await
        }
    }
}

/// Goes on to a question about the bookmarks.
fn ask(request: &PageRequest, selection: &FormSelection) -> Result<HttpResponse, Error> {
    if selection.query.is_some() || selection.ids.len() > MAX_SOURCE_BOOKMARKS {
        return request.done(&selection.back, DoneMessage::new("library-done-too-many"));
    }
    Ok(request.redirect(&format!("/ask?scope=picked:{}", selection.ids.join(","))))
}

/// Asks for what a change needs.
async fn ask_for(
    action: &'static str,
    request: &PageRequest,
    selection: FormSelection,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let collections = if action == "collection" {
        request.run_json::<ShowCollectionTree>(&Target::default(), json!({})).await?.collections
    } else {
        Vec::new()
    };
    let projects = if action == "project" { active_projects(request).await? } else { Vec::new() };
    let status = if faults.is_any() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let shell = request.shell(NavigationEntry::Library).await?;
    let typed = request.form.text("tag").to_owned();
    let page = BulkPage { shell, selection, action, collections, projects, faults, typed };
    request.show_with_status(status, &page)
}

/// Returns the ids and names of the active projects.
pub async fn active_projects(request: &PageRequest) -> Result<Vec<(String, String)>, Error> {
    let list = json!({ "status": "active", "limit": 50 });
    let listed = request.run_json::<ListProjects>(&Target::default(), list).await?;
    let listed = serde_json::to_value(&listed).map_err(Error::internal)?;
    let projects = listed.get("projects").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |project: &Value, field: &str| project.get(field).and_then(Value::as_str).map(str::to_owned);
    Ok(projects.iter().filter_map(|project| Some((text(project, "id")?, text(project, "name")?))).collect())
}

impl BulkPage {
    fn title_key(&self) -> &'static str {
        match self.action {
            "tag" => "library-tag-title",
            "collection" => "library-collection-title",
            _ => "library-project-title",
        }
    }
}
