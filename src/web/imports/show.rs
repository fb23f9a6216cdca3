//! One import: its preview, its progress, and its report.

use actix_web::HttpResponse;
use actors::operation::FromRequest;
use actors::operations::import_rows::{ImportRowView, ListImportRows};
use actors::operations::imports::{
    ImportView, PauseImport, ResumeImport, ShowImport, StartImport, UndoImport,
};
use askama::Template;
use errors::Error;
use serde_json::json;
use values::kind::RowOutcome;

use super::new::format_key;
use super::stage::ImportStage;
use crate::parts;
use crate::web::filters;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};

/// Rows of the first view, and of one of a single outcome.
const PREVIEW_ROWS: u32 = 10;
const LISTED_ROWS: u32 = 100;

/// The page of an import.
#[derive(Template)]
#[template(path = "imports/show.html", blocks = ["import"])]
struct ImportPage {
    shell: Shell,
    tab: &'static str,
    href: String,
    import: ImportView,
    stage: ImportStage,
    format: Option<String>,
    created: i32,
    updated: i32,
    skipped: i32,
    rows: Vec<ImportLine>,
    /// The outcome whose rows are listed; empty for all of them.
    outcome: String,
    next: Option<String>,
    has_waiting_pages: bool,
    /// The part of the pages that are fetched, from 0 to 1; `None` if there are none.
    fetched: Option<f64>,
}

parts!(ImportPage { "import" => as_import });

/// A row of the file.
struct ImportLine {
    line: i64,
    name: Option<String>,
    /// The key of what becomes of it.
    key: &'static str,
    class: &'static str,
    state_class: &'static str,
    reason: Option<String>,
}

impl ImportLine {
    fn of(row: ImportRowView) -> Self {
        let (key, class, state_class) = match row.outcome {
            RowOutcome::Created => ("import-row-created", "r-new", "is-success"),
            RowOutcome::Updated => ("import-row-updated", "r-have", ""),
            RowOutcome::Skipped => ("import-row-skipped", "r-skip", "is-error"),
            RowOutcome::Incidental => ("import-row-incidental", "r-have", ""),
        };
        Self { line: row.line, name: row.name, key, class, state_class, reason: row.reason }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a library has fewer texts than 2 to the power of 52")]
fn fetched_part(import: &ImportView) -> Option<f64> {
    let texts = import.texts.as_ref()?;
    let all = texts.processing + texts.ready + texts.failed;
    (all > 0).then(|| (texts.ready + texts.failed) as f64 / all as f64)
}

/// Shows the import.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let target = request.target();
    let import = request.run_json::<ShowImport>(&target, json!({})).await?.import;
    let outcome =
        request.query.get("outcome").filter(|outcome| is_listed(outcome)).unwrap_or_default().to_owned();
    let cursor = request.query.get("cursor");
    let limit = if outcome.is_empty() && cursor.is_none() { PREVIEW_ROWS } else { LISTED_ROWS };
    let mut fields = json!({ "limit": limit });
    if let Some(fields) = fields.as_object_mut() {
        fields.extend((!outcome.is_empty()).then(|| ("outcome".to_owned(), outcome.as_str().into())));
        fields.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.into())));
    }
    let listed = request.run_json::<ListImportRows>(&target, fields).await?;
    let next = listed.next_cursor.map(|cursor| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        if !outcome.is_empty() {
            query.append_pair("outcome", &outcome);
        }
        format!("/imports/{}?{}#rows", import.id, query.append_pair("cursor", &cursor).finish())
    });
    let report = import.report.as_ref();
    let page = ImportPage {
        shell: request.shell(NavigationEntry::Settings).await?,
        tab: "import",
        href: format!("/imports/{}", import.id),
        stage: ImportStage::of(&import),
        format: import.format.as_deref().map(format_key),
        created: report.map_or(0, |report| report.created),
        updated: report.map_or(0, |report| report.updated),
        skipped: report.map_or(0, |report| report.skipped_rows),
        has_waiting_pages: import.texts.as_ref().is_some_and(|texts| texts.processing > 0),
        fetched: fetched_part(&import),
        import,
        rows: listed.rows.into_iter().map(ImportLine::of).collect(),
        outcome,
        next,
    };
    request.show(&page)
}

fn is_listed(outcome: &str) -> bool {
    matches!(outcome, "created" | "updated" | "skipped")
}

/// Starts the import of a preview.
pub async fn start(request: PageRequest) -> Result<HttpResponse, Error> {
    change::<StartImport>(request).await
}

/// Pauses the import.
pub async fn pause(request: PageRequest) -> Result<HttpResponse, Error> {
    change::<PauseImport>(request).await
}

/// Resumes the import.
pub async fn resume(request: PageRequest) -> Result<HttpResponse, Error> {
    change::<ResumeImport>(request).await
}

/// Undoes the import.
pub async fn undo(request: PageRequest) -> Result<HttpResponse, Error> {
    change::<UndoImport>(request).await
}

async fn change<O: FromRequest>(request: PageRequest) -> Result<HttpResponse, Error> {
    let target = request.target();
    request.run_json::<O>(&target, json!({})).await?;
    let id: values::id::ImportId = target.id(0)?;
    Ok(request.redirect(&format!("/imports/{id}")))
}
