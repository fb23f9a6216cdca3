//! The palette: a form over pages, titles and actions. With script it is a dialog over any page.

mod destinations;
mod entry;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::bookmarks::ListBookmarks;
use actors::operations::collections::FindCollections;
use actors::operations::projects::FindProjects;
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::json;

use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use crate::parts;
use crate::web::filters;
use crate::web::places::kind_icon;
use destinations::{Destination, destinations};
use entry::PaletteEntry;

/// Titles, and of each other kind, that are listed.
const MAX_TITLES: usize = 6;
const MAX_ENTRIES_OF_KIND: u64 = 4;
/// Characters of a query that are used.
const MAX_QUERY_CHARS: usize = 200;

/// The entries under one heading.
struct PaletteGroup {
    title: &'static str,
    entries: Vec<PaletteEntry>,
    /// The number of entries before these, by which options get their ids.
    before: usize,
}

/// The page of the palette.
#[derive(Template)]
#[template(path = "palette/palette.html", blocks = ["palette", "list"])]
struct PalettePage {
    shell: Shell,
    query: String,
    groups: Vec<PaletteGroup>,
}

parts!(PalettePage { "palette" => as_palette, "palette-list" => as_list });

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/go").get(show).mount(config);
    PageRoute::new("/menu").get(show_menu).mount(config);
}

/// The phone's list of everything that has no tab.
#[derive(Template)]
#[template(path = "palette/menu.html")]
struct MenuPage {
    shell: Shell,
}

parts!(MenuPage {});

async fn show_menu(request: PageRequest) -> Result<HttpResponse, Error> {
    let shell = request.shell(NavigationEntry::Elsewhere).await?;
    request.show(&MenuPage { shell })
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let query: String = request.query.text("q").trim().chars().take(MAX_QUERY_CHARS).collect();
    let groups = find(&request, &query).await?;
    let shell = request.shell(NavigationEntry::Elsewhere).await?;
    request.show(&PalettePage { shell, query, groups })
}

async fn find(request: &PageRequest, query: &str) -> Result<Vec<PaletteGroup>, Error> {
    let mut found = Vec::new();
    if !query.is_empty() {
        found.extend(titles(request, query).await?);
        found.extend(projects(request, query).await?);
        found.extend(collections(request, query).await?);
    }
    let locale = request.locale();
    let pages = destinations().filter(|page| !page.is_action).filter(|page| page.matches(locale, query));
    found.extend(pages.map(|page| page.entry(locale)));
    let mut actions: Vec<PaletteEntry> = destinations()
        .filter(|page| page.is_action && page.matches(locale, query))
        .map(|page| page.entry(locale))
        .collect();
    if !query.is_empty() {
        actions.insert(0, Destination::search(locale, query));
        actions.insert(1, Destination::ask(locale, query));
    }
    let before = found.len();
    let mut groups = vec![
        PaletteGroup { title: "palette-go", entries: found, before: 0 },
        PaletteGroup { title: "palette-do", entries: actions, before },
    ];
    groups.retain(|group| !group.entries.is_empty());
    Ok(groups)
}

async fn titles(request: &PageRequest, query: &str) -> Result<Vec<PaletteEntry>, Error> {
    let fields = json!({ "q": query, "limit": MAX_TITLES });
    let bookmarks = match request.run_json::<ListBookmarks>(&Target::default(), fields).await {
        Ok(found) => found.bookmarks,
        // A query that is still being typed, such as one with an open quotation mark.
        Err(Error::Invalid(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(bookmarks
        .into_iter()
        .map(|bookmark| PaletteEntry {
            icon: kind_icon(bookmark.content_type),
            text: bookmark.title,
            detail: String::new(),
            href: format!("/read/{}", bookmark.document_id),
            other: None,
            is_foreign: true,
        })
        .collect())
}

async fn projects(request: &PageRequest, query: &str) -> Result<Vec<PaletteEntry>, Error> {
    let named = FindProjects { words: query.to_owned(), limit: MAX_ENTRIES_OF_KIND };
    let found = request.run(named).await?;
    let detail = request.locale().t("palette-project");
    Ok(found
        .projects
        .into_iter()
        .map(|project| PaletteEntry {
            icon: "projects",
            text: project.name,
            detail: detail.clone(),
            href: format!("/projects/{}", project.id),
            other: None,
            is_foreign: true,
        })
        .collect())
}

async fn collections(request: &PageRequest, query: &str) -> Result<Vec<PaletteEntry>, Error> {
    let named = FindCollections { words: query.to_owned(), limit: MAX_ENTRIES_OF_KIND };
    let found = request.run(named).await?;
    Ok(found
        .collections
        .into_iter()
        .map(|collection| PaletteEntry {
            icon: "collection",
            text: collection.name,
            detail: request.locale().number(collection.bookmark_count),
            href: format!("/collections/{}", collection.collection_id),
            other: None,
            is_foreign: true,
        })
        .collect())
}
