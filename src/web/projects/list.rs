//! The list of projects.

use actix_web::HttpResponse;
use actors::operations::projects::{ListProjects, ProjectView};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::json;

use crate::parts;
use crate::web::filters;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// Projects on a page.
const LISTED_PROJECTS: u32 = 50;

/// The list of projects.
#[derive(Template)]
#[template(path = "projects/list.html", blocks = ["list"])]
struct ProjectsPage {
    shell: Shell,
    shows_archived: bool,
    projects: Vec<ProjectView>,
    /// The address of further projects.
    more: Option<String>,
}

parts!(ProjectsPage { "list" => as_list });

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let shows_archived = request.query.get("status") == Some("archived");
    let status = if shows_archived { "archived" } else { "active" };
    let fields = match request.query.get("cursor") {
        Some(cursor) => json!({ "status": status, "limit": LISTED_PROJECTS, "cursor": cursor }),
        None => json!({ "status": status, "limit": LISTED_PROJECTS }),
    };
    let listed = request.run_json::<ListProjects>(&Target::default(), fields).await?;
    let more = listed.next_cursor.map(|cursor| {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("status", status)
            .append_pair("cursor", &cursor)
            .finish();
        format!("/projects?{query}")
    });
    let shell = request.shell(NavigationEntry::Projects).await?;
    request.show(&ProjectsPage { shell, shows_archived, projects: listed.projects, more })
}
