//! The first step of an import: the file. Below it the imports before.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Payload;
use actors::operations::imports::{ImportView, ListImports};
use askama::Template;
use errors::Error;
use values::time::Timestamp;

use super::stage::ImportStage;
use crate::app;
use crate::parts;
use crate::web::filters;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The page with the form.
#[derive(Template)]
#[template(path = "imports/new.html", blocks = ["earlier"])]
struct NewImportPage {
    shell: Shell,
    tab: &'static str,
    faults: FormFaults,
    max_size: String,
    earlier: Vec<EarlierImport>,
    has_moving: bool,
}

parts!(NewImportPage { "earlier" => as_earlier });

/// An import before.
struct EarlierImport {
    href: String,
    name: Option<String>,
    format: Option<String>,
    rows: i64,
    stage: ImportStage,
    created_at: Timestamp,
}

impl EarlierImport {
    fn of(import: ImportView) -> Self {
        Self {
            stage: ImportStage::of(&import),
            href: format!("/imports/{}", import.id),
            format: import.format.as_deref().map(format_key),
            name: import.file_name,
            rows: import.rows,
            created_at: import.created_at,
        }
    }
}

/// Returns the key of the name of a format.
pub fn format_key(format: &str) -> String {
    format!("import-format-{format}")
}

/// Shows the form.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let page = page(&request, FormFaults::default()).await?;
    request.show(&page)
}

/// Receives a file and reads it for a preview.
pub async fn receive(request: PageRequest, payload: Payload) -> Result<HttpResponse, Error> {
    match app::receive_import(&request.http, &request.ctx, payload).await {
        Ok(response) => Ok(request.redirect(&format!("/imports/{}", response.import.id))),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            let page = page(&request, faults).await?;
            // The rest of the file is not read, so the connection ends with this response.
            let status =
                if status == StatusCode::CONFLICT { StatusCode::UNPROCESSABLE_ENTITY } else { status };
            request.show_with_status(status, &page)
        }
    }
}

async fn page(request: &PageRequest, faults: FormFaults) -> Result<NewImportPage, Error> {
    let imports = request.run(ListImports).await?.imports;
    let earlier: Vec<EarlierImport> = imports.into_iter().map(EarlierImport::of).collect();
    Ok(NewImportPage {
        shell: request.shell(NavigationEntry::Settings).await?,
        tab: "import",
        faults,
        max_size: request.locale().bytes(request.ctx.uploads.import_bytes),
        has_moving: earlier.iter().any(|import| import.stage.is_moving()),
        earlier,
    })
}
