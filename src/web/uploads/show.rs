//! The page of uploads.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actors::operations::uploads::{ListUploads, UploadStatus, UploadView};
use actors::operations::work::{ListWork, RetryWork, WorkStage, WorkView};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::{Map, Value, json};
use values::kind::ContentType;
use values::time::Timestamp;

use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::places::kind_icon;
use crate::web::strings::MessageValue;

/// Rows of a stage on the first page.
const STAGE_ROWS: u32 = 20;
/// Failed texts that one press of "Retry all" queues again.
const MAX_RETRIES: u32 = 100;

/// The page of uploads.
#[derive(Template)]
#[template(path = "uploads/uploads.html", blocks = ["work", "storage"])]
struct UploadsPage {
    shell: Shell,
    faults: FormFaults,
    /// Whether only failed texts are listed.
    is_failed_list: bool,
    running: Vec<TextWorkRow>,
    pending: u64,
    failed: Vec<TextWorkRow>,
    failed_count: u64,
    has_more_failed: bool,
    awaiting: Vec<UploadRow>,
    done: Vec<UploadRow>,
    next: Option<String>,
    used_text: String,
    limit_text: String,
    used_part: f64,
    largest: String,
    largest_bytes: u64,
    is_moving: bool,
}

parts!(UploadsPage { "work" => as_work, "storage" => as_storage });

/// A text that waits, is worked on, or failed.
struct TextWorkRow {
    id: String,
    icon: &'static str,
    title: String,
    href: String,
    is_running: bool,
    /// The key of what is done, or of what it waits for.
    key: &'static str,
    progress: Option<f64>,
    reason: Option<String>,
    next_at: Option<Timestamp>,
}

/// An upload.
struct UploadRow {
    icon: &'static str,
    title: String,
    href: Option<String>,
    bytes: i64,
    lacks: Option<String>,
    is_expired: bool,
    created_at: Timestamp,
}

impl TextWorkRow {
    fn of(work: WorkView) -> Self {
        let is_running = work.stage == WorkStage::Running;
        let key = match (work.work.as_deref(), is_running) {
            (Some("transcribe"), true) => "uploads-transcribing",
            (Some("fetch_page"), true) => "uploads-fetching",
            (_, true) => "uploads-extracting",
            (_, false) => "uploads-waiting",
        };
        Self {
            id: work.document_id.to_string(),
            icon: kind_icon(work.content_type),
            href: format!("/read/{}", work.document_id),
            title: work.title,
            is_running,
            key,
            progress: work.progress.filter(|_| is_running),
            reason: work.reason,
            next_at: work.next_at,
        }
    }
}

impl UploadRow {
    fn of(upload: UploadView) -> Self {
        let kind = match upload.content_type.split('/').next() {
            Some("audio") => ContentType::Audio,
            Some("video") => ContentType::Video,
            Some(_) | None => ContentType::Pdf,
        };
        Self {
            icon: kind_icon(kind),
            title: upload.title,
            href: upload.document_id.map(|id| format!("/read/{id}")),
            bytes: upload.bytes,
            lacks: upload.lacks,
            is_expired: upload.status == UploadStatus::Expired,
            created_at: upload.created_at,
        }
    }
}

/// Shows the page.
pub async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let page = page(&request, FormFaults::default()).await?;
    request.show(&page)
}

/// Shows the page with what is wrong with a form.
pub async fn show_faults(request: &PageRequest, error: Error) -> Result<HttpResponse, Error> {
    let (status, faults) = FormFaults::from_error(error, request.locale())?;
    let page = page(request, faults).await?;
    let status = if status.is_client_error() { StatusCode::UNPROCESSABLE_ENTITY } else { status };
    request.show_with_status(status, &page)
}

/// Queues a failed text again.
pub async fn retry(request: PageRequest) -> Result<HttpResponse, Error> {
    request.run_json::<RetryWork>(&request.target(), json!({})).await?;
    let path = request.back("/uploads");
    request.done(&path, DoneMessage::new("uploads-retried"))
}

/// Queues the failed texts again, at most 100 of them.
pub async fn retry_all(request: PageRequest) -> Result<HttpResponse, Error> {
    let fields = json!({ "stage": "failed", "limit": MAX_RETRIES });
    let failed = request.run_json::<ListWork>(&Target::default(), fields).await?.work;
    let mut retried = 0_i64;
    for work in failed {
        let target = Target(vec![work.document_id.to_string()]);
        match request.run_json::<RetryWork>(&target, json!({})).await {
            Ok(_) => retried += 1,
            // Its document was deleted, or its text is being made again already.
            Err(Error::NotFound(_) | Error::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    request.done(
        "/uploads",
        DoneMessage::new("uploads-retried-all").with("count", MessageValue::Number(retried)),
    )
}

async fn page(request: &PageRequest, faults: FormFaults) -> Result<UploadsPage, Error> {
    let is_failed_list = request.query.get("stage") == Some("failed");
    let cursor = request.query.get("cursor");
    let work = request.run_json::<ListWork>(&Target::default(), work_fields(is_failed_list, cursor)).await?;
    let uploads = list_uploads(request, is_failed_list, cursor).await?;
    let (failed, running): (Vec<WorkView>, Vec<WorkView>) =
        work.work.into_iter().partition(|work| work.stage == WorkStage::Failed);
    let mut awaiting = Vec::new();
    let mut done = Vec::new();
    for upload in uploads.uploads {
        match upload.status {
            UploadStatus::Awaiting => awaiting.push(UploadRow::of(upload)),
            UploadStatus::Ready | UploadStatus::Expired => done.push(UploadRow::of(upload)),
            // They stand among the work.
            UploadStatus::Processing | UploadStatus::Failed => {}
        }
    }
    let next = if is_failed_list {
        work.next_cursor.map(|cursor| next_href("failed", &cursor))
    } else {
        uploads.next_cursor.map(|cursor| next_href("", &cursor))
    };
    Ok(UploadsPage {
        shell: request.shell(NavigationEntry::Uploads).await?,
        faults,
        is_failed_list,
        is_moving: !running.is_empty(),
        running: running.into_iter().map(TextWorkRow::of).collect(),
        pending: work.waiting + work.running,
        has_more_failed: !is_failed_list && work.failed > failed.len() as u64,
        failed: failed.into_iter().map(TextWorkRow::of).collect(),
        failed_count: work.failed,
        awaiting,
        done,
        next,
        used_text: request.locale().bytes(uploads.stored_bytes),
        limit_text: request.locale().bytes(uploads.limit),
        used_part: part_of(uploads.stored_bytes, uploads.limit),
        largest: request.locale().bytes(uploads.largest),
        largest_bytes: uploads.largest,
    })
}

fn work_fields(is_failed_list: bool, cursor: Option<&str>) -> Value {
    let mut fields = Map::from_iter([("limit".to_owned(), json!(STAGE_ROWS))]);
    if is_failed_list {
        fields.insert("stage".to_owned(), json!("failed"));
        fields.extend(cursor.map(|cursor| ("cursor".to_owned(), json!(cursor))));
    }
    Value::Object(fields)
}

async fn list_uploads(
    request: &PageRequest,
    is_failed_list: bool,
    cursor: Option<&str>,
) -> Result<actors::operations::uploads::ListUploadsResponse, Error> {
    let mut fields = Map::from_iter([("limit".to_owned(), json!(STAGE_ROWS))]);
    fields.extend(cursor.filter(|_| !is_failed_list).map(|cursor| ("cursor".to_owned(), json!(cursor))));
    request.run_json::<ListUploads>(&Target::default(), Value::Object(fields)).await
}

fn next_href(stage: &str, cursor: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if !stage.is_empty() {
        query.append_pair("stage", stage);
    }
    format!("/uploads?{}", query.append_pair("cursor", cursor).finish())
}

#[expect(clippy::cast_precision_loss, reason = "no disk has more than 2 to the power of 52 bytes")]
fn part_of(used: u64, limit: u64) -> f64 {
    if limit == 0 { 0.0 } else { (used as f64 / limit as f64).min(1.0) }
}
