//! Exports: everything of an account in one archive of open formats.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::exports::{BeginExport, ExportView, ListExports};
use askama::Template;
use errors::Error;
use values::id::ExportId;
use values::kind::ExportState;

use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use crate::http::originals;
use crate::parts;
use crate::web::filters;

/// The page of exports.
#[derive(Template)]
#[template(path = "exports/exports.html", blocks = ["exports"])]
struct ExportsPage {
    shell: Shell,
    tab: &'static str,
    exports: Vec<ListedExport>,
    is_running: bool,
}

parts!(ExportsPage { "exports" => as_exports });

/// An export, with its day in words.
struct ListedExport {
    view: ExportView,
    day: String,
}

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/exports").get(show).post(begin).mount(config);
    PageRoute::new("/exports/{id}/file").get(download).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let exports = request.run(ListExports).await?.exports;
    let is_running = exports.iter().any(|export| export.status == ExportState::Running);
    let listed = |view: ExportView| ListedExport { day: request.locale().date_time(view.created_at), view };
    let exports = exports.into_iter().map(listed).collect();
    let page = ExportsPage {
        shell: request.shell(NavigationEntry::Settings).await?,
        tab: "export",
        exports,
        is_running,
    };
    request.show(&page)
}

async fn begin(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run(BeginExport).await?;
    Ok(request.redirect("/exports"))
}

async fn download(request: PageRequest) -> Result<HttpResponse, Error> {
    let id: ExportId = request.target().id(0)?;
    originals::export_file(&request.ctx, &request.viewer.caller, id).await
}
