//! OPML: the list of feeds as a file, in and out.

use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use actix_web::web::ServiceConfig;
use actors::operations::feeds::{ExportOpml, ImportOpml};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::json;

use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue::Number;

/// The longest file: some ten thousand feeds.
const MAX_FILE_BYTES: usize = 4 << 20;

/// The page with both forms.
#[derive(Template)]
#[template(path = "feeds/opml.html")]
struct OpmlPage {
    shell: Shell,
    faults: FormFaults,
}

parts!(OpmlPage {});

pub(super) fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/feeds/opml").max_form_bytes(MAX_FILE_BYTES).get(show).post(import).mount(config);
    PageRoute::new("/feeds/opml/file").get(export).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let shell = request.shell(NavigationEntry::Feeds).await?;
    request.show(&OpmlPage { shell, faults: FormFaults::default() })
}

/// Follows the feeds of a file.
async fn import(request: PageRequest) -> Result<HttpResponse, Error> {
    let imported = match request.form.file("file") {
        Some(file) => {
            let opml = text::charset::decode_file(&file.contents);
            request.run_json::<ImportOpml>(&Target(Vec::new()), json!({ "opml": opml })).await
        }
        None => Err(Error::invalid("file", "is required")),
    };
    let imported = match imported {
        Ok(imported) => imported,
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            let shell = request.shell(NavigationEntry::Feeds).await?;
            return request.show_with_status(status, &OpmlPage { shell, faults });
        }
    };
    let number = |count: usize| Number(i64::try_from(count).unwrap_or(i64::MAX));
    let done = DoneMessage::new("feeds-imported")
        .with("new", number(imported.new))
        .with("known", number(imported.already_followed))
        .with("refused", number(imported.refused));
    let path = match imported.refused {
        0 => "/feeds/manage".to_owned(),
        _ => format!("/imports/{}", imported.import_id),
    };
    request.done(&path, done)
}

/// Sends the file.
async fn export(request: PageRequest) -> Result<HttpResponse, Error> {
    let opml = request.run(ExportOpml).await?.opml;
    let day = request.locale().zoned(request.locale().now).strftime("%Y-%m-%d").to_string();
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/x-opml; charset=utf-8"))
        .insert_header((CONTENT_DISPOSITION, format!("attachment; filename=\"carrel-feeds-{day}.opml\"")))
        .body(opml))
}
