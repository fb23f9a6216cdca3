//! Fetches the URL of a document, and detects what it leads to: a page, a PDF, a recording, or a redirect to another page.

use std::cell::Cell;

use concurrency::Lane;
use disk::ScratchFile;
use entity::{document, job};
use jobs::JobError;
use library::documents::ExtractedDocument;
use library::notes::derive_title;
use library::owned_transaction::begin_owned;
use library::uploads::MediaType;
use storage::blobs::BlobError;
use values::kind::ContentType;
use web::ContentType as ContentTypeHeader;
use web::{BodyPolicy, FetchOutcome, FetchRequest, FetchedPage, PageUrl, SaveError};

use super::article::{document_of_article, read_article};
use crate::ingest::document_row::{is_recording, set_content_type};
use crate::ingest::extraction_context::ExtractionContext;
use crate::ingest::fetch_rules::{job_error_of_fetch, job_error_of_url};
use crate::ingest::file::{FileContent, detect_content};
use crate::ingest::file_type;
use crate::ingest::media::recording_url;

/// Redirects by HTML that are followed one after the other. Redirects by HTTP are followed below, by the fetcher.
const MAX_HTML_REDIRECTS: usize = 3;
/// A page with more text than this is read, even if it redirects its readers.
const MAX_REDIRECT_PAGE_CHARS: usize = 1_000;
/// A media type is cut to this length in a message.
const MAX_SHOWN_TYPE_CHARS: usize = 100;

/// The content that the URL of a document leads to.
pub enum DetectedContent {
    /// A page, or plain text, which was read.
    Html(Box<ExtractedDocument>),
    /// A PDF, which is still to be read.
    Pdf(ScratchFile),
    /// Audio or video, which is fetched when it can be transcribed.
    Recording,
}

/// The content that one URL on the way leads to.
enum UrlContent {
    Detected(DetectedContent),
    Redirect(PageUrl),
}

/// Fetches the document's URL. A document that turns out to be a PDF, audio or video gets
/// that content type (contract.md, section 11: v1).
///
/// # Errors
/// [`JobError::Permanent`] when the URL is refused, redirects too often, or leads to nothing that is supported;
/// [`JobError::FailedFetch`] when its host does not answer.
pub async fn fetch(
    ctx: &ExtractionContext,
    job: &job::Model,
    document: &document::Model,
) -> Result<DetectedContent, JobError> {
    let document_url = document.url.as_deref().unwrap_or_default();
    let mut url = PageUrl::parse(document_url).map_err(|rejection| job_error_of_url(&rejection))?;
    for redirects in 0..=MAX_HTML_REDIRECTS {
        match fetch_url(ctx, job, &url, user_title(document)).await? {
            UrlContent::Detected(DetectedContent::Recording) => {
                // After a redirect by HTML the document keeps its own URL, so the one of the recording is stored separately.
                let separate_url = (redirects > 0).then_some(&url);
                let txn = begin_owned(&ctx.core.db, job.user_id).await?;
                recording_url::set(&txn, job.user_id, document.id, separate_url.map(PageUrl::as_str)).await?;
                txn.commit().await?;
                return Ok(DetectedContent::Recording);
            }
            UrlContent::Detected(content) => return Ok(content),
            UrlContent::Redirect(next) => url = next,
        }
    }
    Err(JobError::Permanent("the page redirects too often".to_owned()))
}

/// Returns the title that the user gave the document, if any.
pub fn user_title(document: &document::Model) -> Option<String> {
    document.has_user_title.then(|| document.title.clone())
}

async fn fetch_url(
    ctx: &ExtractionContext,
    job: &job::Model,
    url: &PageUrl,
    user_title: Option<String>,
) -> Result<UrlContent, JobError> {
    // The policy is called with the media type of the final response.
    let (declared, recording) = (Cell::new(ContentType::Video), Cell::new(None));
    let skipped_type = Cell::new(None);
    let policy = |media_type: Option<&str>| {
        skipped_type.set(media_type.map(str::to_owned));
        declared.set(declared_content_type(media_type));
        let supported =
            media_type.and_then(MediaType::parse).and_then(|media_type| media_type.content_type());
        recording.set(supported.filter(|content_type| is_recording(*content_type)));
        if recording.get().is_some() { BodyPolicy::Skip } else { body_policy(media_type) }
    };
    let fetched = ctx.fetcher.get_or_save(url, FetchRequest::page(), &ctx.uploads.scratch, policy).await;
    if let Err(SaveError::Fetch(error)) = &fetched {
        ctx.host_throttle.record_retry_after(error);
    }
    match fetched.map_err(job_error_of_fetch)? {
        // A server may send a PDF or a recording as a page. It is written to a file like one that was declared.
        FetchOutcome::Page(page) if file_type::detect_at_start(&page.body).is_some() => {
            let length = page.body.len() as u64;
            let mut writer = ctx.uploads.scratch.writer(Some(length)).map_err(BlobError::from)?;
            writer.write(&page.body).await.map_err(BlobError::from)?;
            let file = writer.finish().await.map_err(BlobError::from)?;
            detect_file(ctx, job, file, declared.get()).await
        }
        FetchOutcome::Page(page)
            if file_type::is_binary(
                &page.body,
                page.content_type.as_ref().and_then(ContentTypeHeader::charset),
            ) =>
        {
            Err(unsupported_type(None))
        }
        FetchOutcome::Page(page) => {
            set_content_type(&ctx.core, job, ContentType::Article).await?;
            read_page(ctx, job, *page, user_title).await
        }
        FetchOutcome::File(file) => detect_file(ctx, job, file, declared.get()).await,
        FetchOutcome::Skipped => match recording.get() {
            Some(content_type) => {
                set_content_type(&ctx.core, job, content_type).await?;
                Ok(UrlContent::Detected(DetectedContent::Recording))
            }
            None => Err(unsupported_type(skipped_type.take().as_deref())),
        },
    }
}

async fn detect_file(
    ctx: &ExtractionContext,
    job: &job::Model,
    file: ScratchFile,
    declared: ContentType,
) -> Result<UrlContent, JobError> {
    let content = match detect_content(&ctx.core, job, file.path(), declared).await? {
        FileContent::Pdf => DetectedContent::Pdf(file),
        FileContent::Recording => DetectedContent::Recording,
    };
    Ok(UrlContent::Detected(content))
}

async fn read_page(
    ctx: &ExtractionContext,
    job: &job::Model,
    page: FetchedPage,
    user_title: Option<String>,
) -> Result<UrlContent, JobError> {
    if is_plain_text(page.media_type()) {
        return read_plain_text(ctx, page).await;
    }
    let url = page.url.as_str().to_owned();
    // Detecting and decoding the charset of megabytes would block the async runtime.
    let html = ctx.core.workers.run(Lane::Background, move || page.text()).await?;
    let article = read_article(ctx, html, url, user_title).await?;
    let next = article.moved_to.as_deref().and_then(|next| PageUrl::parse(next).ok());
    match next.filter(|_| article.text.chars().nth(MAX_REDIRECT_PAGE_CHARS).is_none()) {
        Some(next) => Ok(UrlContent::Redirect(next)),
        None => document_of_article(ctx, job, article).await.map(html_content),
    }
}

async fn read_plain_text(ctx: &ExtractionContext, page: FetchedPage) -> Result<UrlContent, JobError> {
    // The first line of other types, such as a table, is not a title.
    let is_prose = matches!(page.media_type(), Some("text/plain" | "text/markdown"));
    let text = ctx.core.workers.run(Lane::Background, move || text::clean(&page.text())).await?;
    if text.trim().is_empty() {
        return Err(JobError::Permanent("the page has no text".to_owned()));
    }
    let title = is_prose.then(|| derive_title(&text));
    Ok(html_content(ExtractedDocument { text, title, ..ExtractedDocument::default() }))
}

fn html_content(document: ExtractedDocument) -> UrlContent {
    UrlContent::Detected(DetectedContent::Html(Box::new(document)))
}

/// The error for a file that is neither a page nor of another supported type, with the type that its server names.
fn unsupported_type(media_type: Option<&str>) -> JobError {
    let media_type = media_type.and_then(MediaType::parse).map(|media_type| media_type.to_string());
    JobError::Permanent(match media_type {
        Some(media_type) => {
            format!("this file type ({}) is not supported", text::cut(&media_type, MAX_SHOWN_TYPE_CHARS))
        }
        None => "this file type is not supported".to_owned(),
    })
}

/// Media types by which servers ask browsers to save a file, and that say nothing of its content.
const GENERIC_DOWNLOAD_TYPES: [&str; 8] = [
    "application/octet-stream",
    "application/x-octet-stream",
    "binary/octet-stream",
    "application/download",
    "application/x-download",
    "application/force-download",
    "application/x-force-download",
    "application/unknown",
];

/// Pages are read into memory. What may be a PDF, audio or video is written to a file, and other types are skipped.
fn body_policy(media_type: Option<&str>) -> BodyPolicy {
    let Some(declared) = media_type else { return BodyPolicy::Memory };
    if is_html(declared) || is_plain_text(media_type) {
        return BodyPolicy::Memory;
    }
    // Servers without a type for a file send one of these, so its bytes decide.
    let is_generic = GENERIC_DOWNLOAD_TYPES.contains(&declared);
    let is_supported = MediaType::parse(declared).and_then(|declared| declared.content_type()).is_some();
    if is_generic || is_supported { BodyPolicy::File } else { BodyPolicy::Skip }
}

fn is_html(media_type: &str) -> bool {
    matches!(media_type, "text/html" | "application/xhtml+xml" | "application/xml" | "text/xml")
}

fn is_plain_text(media_type: Option<&str>) -> bool {
    media_type.is_some_and(|declared| declared.starts_with("text/") && !is_html(declared))
}

/// The content type that a server declares. Where it declares none that is supported, a file that may be
/// either audio or video counts as video.
fn declared_content_type(media_type: Option<&str>) -> ContentType {
    media_type
        .and_then(MediaType::parse)
        .and_then(|media_type| media_type.content_type())
        .unwrap_or(ContentType::Video)
}
