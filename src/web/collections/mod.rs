//! Collections: the tree, the list of one, and the form that names, moves and deletes one.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use actors::operations::collections::{
    ChangeCollection, CollectionNode, CreateCollection, DeleteCollectionWithUndo, ShowCollection,
    ShowCollectionTree,
};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::{Value, json};
use values::id::CollectionId;

use super::library::show_collection;
use super::page::done::DoneMessage;
use super::page::faults::FormFaults;
use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::sent_forms::FormOutcome;
use super::page::shell::{NavigationEntry, Shell};
use super::page::tickets::new_ticket;
use crate::parts;
use crate::web::filters;

/// All collections as a tree.
#[derive(Template)]
#[template(path = "collections/collections.html", blocks = ["tree"])]
struct CollectionsPage {
    shell: Shell,
    nodes: Vec<CollectionNode>,
    name: String,
    parent: String,
    ticket: String,
    faults: FormFaults,
}

parts!(CollectionsPage { "collections-tree" => as_tree });

/// The form of a collection.
#[derive(Template)]
#[template(path = "collections/edit.html", blocks = ["dialog"])]
struct EditCollectionPage {
    shell: Shell,
    id: CollectionId,
    name: String,
    description: String,
    parent: String,
    /// The collections into which it can be moved.
    nodes: Vec<CollectionNode>,
    faults: FormFaults,
}

parts!(EditCollectionPage { "dialog" => as_dialog });

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/collections").get(show).post(create).mount(config);
    PageRoute::new("/collections/{id}").get(show_collection).mount(config);
    PageRoute::new("/collections/{id}/edit").get(show_edit).post(edit).mount(config);
    PageRoute::new("/collections/{id}/delete").post(delete).mount(config);
}

/// Returns all collections as a tree.
pub async fn load_tree(request: &PageRequest) -> Result<Vec<CollectionNode>, Error> {
    Ok(request.run_json::<ShowCollectionTree>(&Target::default(), json!({})).await?.collections)
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    respond(&request, StatusCode::OK, FormFaults::default()).await
}

async fn respond(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let nodes = load_tree(request).await?;
    let shell = request.shell(NavigationEntry::Library).await?;
    let text = |name| request.form.text(name).to_owned();
    let (name, parent, ticket) = (text("name"), text("parent"), new_ticket()?);
    let page = CollectionsPage { shell, nodes, name, parent, ticket, faults };
    request.show_with_status(status, &page)
}

async fn create(request: PageRequest) -> Result<HttpResponse, Error> {
    let mut collection = json!({ "name": request.form.text("name").trim() });
    if let (Some(fields), Some(parent)) = (collection.as_object_mut(), request.form.get("parent")) {
        fields.insert("parentId".to_owned(), json!(parent));
    }
    let create = async {
        request.run_json::<CreateCollection>(&Target::default(), collection).await?;
        let message = Some(DoneMessage::new("collections-done-created"));
        Ok::<_, Error>(FormOutcome { path: "/collections".to_owned(), message })
    };
    match request.create_once(create).await {
        Ok(response) => Ok(response),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            respond(&request, status, faults).await
        }
    }
}

async fn show_edit(request: PageRequest) -> Result<HttpResponse, Error> {
    let shown = request.run_query::<ShowCollection>(&request.target(), &[]).await?.collection;
    let form = CollectionForm {
        name: shown.name,
        description: shown.description.unwrap_or_default(),
        parent: shown.parent_id.map(|id| id.to_string()).unwrap_or_default(),
    };
    respond_edit(&request, StatusCode::OK, form, FormFaults::default()).await
}

/// What the form of a collection holds.
struct CollectionForm {
    name: String,
    description: String,
    parent: String,
}

async fn edit(request: PageRequest) -> Result<HttpResponse, Error> {
    let text = |name| request.form.text(name).trim().to_owned();
    let form =
        CollectionForm { name: text("name"), description: text("description"), parent: text("parent") };
    let given = |text: &str| if text.is_empty() { Value::Null } else { json!(text) };
    let change = json!({
        "name": form.name, "description": given(&form.description), "parentId": given(&form.parent)
    });
    match request.run_json::<ChangeCollection>(&request.target(), change).await {
        Ok(changed) => {
            let path = format!("/collections/{}", changed.collection.collection_id);
            request.done(&path, DoneMessage::new("collections-done-changed"))
        }
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            respond_edit(&request, status, form, faults).await
        }
    }
}

async fn respond_edit(
    request: &PageRequest,
    status: StatusCode,
    form: CollectionForm,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let id: CollectionId = request.target().id(0)?;
    let nodes = outside(load_tree(request).await?, id);
    let shell = request.shell(NavigationEntry::Library).await?;
    let CollectionForm { name, description, parent } = form;
    request
        .show_with_status(status, &EditCollectionPage { shell, id, name, description, parent, nodes, faults })
}

/// Returns the collections other than this one and those nested in it.
fn outside(nodes: Vec<CollectionNode>, id: CollectionId) -> Vec<CollectionNode> {
    let mut inner = None;
    let mut is_outside = |node: &CollectionNode| {
        if node.collection.collection_id == id {
            inner = Some(node.depth);
            return false;
        }
        let is_inside = inner.is_some_and(|depth| node.depth > depth);
        if !is_inside {
            inner = None;
        }
        !is_inside
    };
    nodes.into_iter().filter(|node| is_outside(node)).collect()
}

async fn delete(request: PageRequest) -> Result<HttpResponse, Error> {
    let deleted = request.run_json::<DeleteCollectionWithUndo>(&request.target(), json!({})).await?;
    let token = deleted.undo.token.to_string();
    let message = DoneMessage::new("collections-done-deleted");
    request
        .done("/collections", message.undo("/library/undo", &[("token", &token), ("back", "/collections")]))
}
