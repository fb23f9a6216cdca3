//! The browser extension: how to get it, and its files as an archive. The extension itself is in `src/web/extension`.

mod archive;

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::web::{Bytes, ServiceConfig};
use askama::Template;
use errors::Error;

use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use crate::parts;
use crate::web::filters;

/// The archive, packed at its first download.
static ARCHIVE: LazyLock<Result<Bytes, zip::result::ZipError>> =
    LazyLock::new(|| archive::pack().map(Bytes::from));

/// The page about the extension.
#[derive(Template)]
#[template(path = "browser_extension/page.html")]
struct ExtensionPage {
    shell: Shell,
    tab: &'static str,
    base_url: String,
    /// The address of a bookmark that opens the form for saving, with the page that is open.
    bookmarklet: String,
    /// Whether the plan of the user has the API that the extension uses.
    has_rest: bool,
}

parts!(ExtensionPage {});

/// Mounts the page and the archive.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/settings/extension").get(show).mount(config);
    PageRoute::new("/settings/extension/carrel-extension.zip").get(download).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let shell = request.shell(NavigationEntry::Settings).await?;
    let base_url = request.ctx.core.base_url.to_string();
    request.show(&ExtensionPage {
        shell,
        tab: "extension",
        bookmarklet: bookmarklet(&base_url),
        base_url,
        has_rest: request.viewer.caller.plan.has_rest(),
    })
}

fn bookmarklet(base_url: &str) -> String {
    format!(
        "javascript:void(open('{base_url}/add?url='+encodeURIComponent(location.href)\
         +'&title='+encodeURIComponent(document.title)))"
    )
}

async fn download(_: PageRequest) -> Result<HttpResponse, Error> {
    let archive = ARCHIVE.as_ref().map_err(Error::internal)?;
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/zip"))
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"carrel-extension.zip\""))
        .body(archive.clone()))
}
