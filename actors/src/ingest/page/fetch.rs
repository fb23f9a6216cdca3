//! What stands at an address: a page, a file, a recording, or the way to another page.

use std::cell::Cell;

use entity::kind::ContentType;
use entity::{document, job};
use runtime::Lane;
use storage::blobs::BlobError;
use web::ContentType as SentType;
use web::{BodyPolicy, FetchError, FetchOutcome, FetchRequest, FetchedPage, PageUrl, UrlRejection};

use super::super::attempt::JobError;
use super::super::media::place;
use super::super::store::Text;
use super::super::{file, magic};
use super::article::{article, text_of};
use crate::ingest::context::IngestContext;
use crate::operations::notes;
use library::owned_transaction::begin_owned;
use library::uploads::MediaType;

/// Pages that send their readers on, one after the other.
const MOST_HOPS: usize = 3;
/// A page of so many characters is there to be read, wherever it sends its readers on to.
const LITTLE: usize = 1_000;
/// A media type is cut to so many characters in a message.
const MAX_SHOWN_TYPE_CHARS: usize = 100;

/// What stands at an address.
enum Found {
    /// A text.
    Text(Box<Text>),
    /// A recording, which is fetched when it can be heard, of the kind that its host says, where its file was not looked into.
    Recording(Option<ContentType>),
    /// A page that sends its readers on.
    Elsewhere(PageUrl),
}

/// Fetches the document's address. What turns out to be a PDF, audio or video becomes that (contract.md, section 11: v1);
/// none for a recording, which is fetched when it can be heard.
pub async fn fetch(ctx: &IngestContext, job: &job::Model, document: &document::Model) -> Result<Option<Text>, JobError> {
    let address = document.url.as_deref().unwrap_or_default();
    let mut url = PageUrl::parse(address).map_err(|rejection| rejected(&rejection))?;
    for hops in 0..=MOST_HOPS {
        match fetch_at(ctx, job, &url, called(document)).await? {
            Found::Text(text) => return Ok(Some(*text)),
            Found::Recording(kind) => {
                if let Some(kind) = kind {
                    file::becomes(ctx, job, kind).await?;
                }
                let elsewhere = (hops > 0).then_some(&url);
                let txn = begin_owned(&ctx.core.db, job.user_id).await?;
                place::set(&txn, job.user_id, document.id, elsewhere.map(PageUrl::as_str)).await?;
                txn.commit().await?;
                return Ok(None);
            }
            Found::Elsewhere(next) => url = next,
        }
    }
    Err(JobError::Permanent("the page redirects too often".to_owned()))
}

/// What its person calls a document.
pub fn called(document: &document::Model) -> Option<String> {
    document.title_given.then(|| document.title.clone())
}

async fn fetch_at(
    ctx: &IngestContext,
    job: &job::Model,
    url: &PageUrl,
    called: Option<String>,
) -> Result<Found, JobError> {
    let (said, recording) = (Cell::new(ContentType::Video), Cell::new(None));
    let named = Cell::new(None);
    let policy = |media_type: Option<&str>| {
        named.set(media_type.map(str::to_owned));
        said.set(kind_said(media_type));
        let known = media_type.and_then(MediaType::parse).and_then(|said| said.content_type());
        recording.set(known.filter(|known| is_recording(*known)));
        if recording.get().is_some() { BodyPolicy::Skip } else { body_policy(media_type) }
    };
    let of_file =
        |text: Option<Text>| text.map_or(Found::Recording(None), |text| Found::Text(Box::new(text)));
    let got = ctx.fetcher.get_or_save(url, FetchRequest::page(), &ctx.uploads.scratch, policy).await;
    if let Err(error) = &got {
        ctx.host_throttle.record_retry_after(error);
    }
    match got.map_err(failed)? {
        FetchOutcome::Page(page) if magic::at_once(&page.body).is_some() => {
            let length = page.body.len() as u64;
            let mut writer = ctx.uploads.scratch.writer(Some(length)).map_err(BlobError::from)?;
            writer.write(&page.body).await.map_err(BlobError::from)?;
            let kept = writer.finish().await.map_err(BlobError::from)?;
            file::text(ctx, job, kept.path(), said.get()).await.map(of_file)
        }
        FetchOutcome::Page(page)
            if magic::is_no_text(&page.body, page.content_type.as_ref().and_then(SentType::charset)) =>
        {
            Err(unsupported(None))
        }
        FetchOutcome::Page(page) => {
            file::becomes(ctx, job, ContentType::Article).await?;
            read(ctx, job, *page, called).await
        }
        FetchOutcome::File(kept) => file::text(ctx, job, kept.path(), said.get()).await.map(of_file),
        FetchOutcome::Skipped => match recording.get() {
            Some(known) => Ok(Found::Recording(Some(known))),
            None => Err(unsupported(named.take().as_deref())),
        },
    }
}

async fn read(
    ctx: &IngestContext,
    job: &job::Model,
    page: FetchedPage,
    called: Option<String>,
) -> Result<Found, JobError> {
    if is_plain(page.media_type()) {
        // The first line of a table, say, is no title.
        let is_prose = matches!(page.media_type(), Some("text/plain" | "text/markdown"));
        let text = ctx.core.workers.run(Lane::Background, move || text::clean(&page.text())).await?;
        if text.trim().is_empty() {
            return Err(JobError::Permanent("the page has no text".to_owned()));
        }
        let title = is_prose.then(|| notes::first_line(&text));
        return Ok(Found::Text(Box::new(Text { text, title, ..Text::default() })));
    }
    let url = page.url.as_str().to_owned();
    let html = ctx.core.workers.run(Lane::Background, move || page.text()).await?;
    let article = article(ctx, html, url, called).await?;
    let next = article.moved_to.as_deref().and_then(|next| PageUrl::parse(next).ok());
    match next.filter(|_| article.text.chars().nth(LITTLE).is_none()) {
        Some(next) => Ok(Found::Elsewhere(next)),
        None => text_of(ctx, job, article).await.map(|text| Found::Text(Box::new(text))),
    }
}

pub fn failed(error: FetchError) -> JobError {
    if let FetchError::Rejected(rejection) = &error {
        return rejected(rejection);
    }
    if let FetchError::Save(cause) = error {
        // The service's own disk: the page is not to blame.
        return BlobError::from(cause).into();
    }
    let reason = error.to_string();
    if error.is_permanent() {
        JobError::Permanent(reason)
    } else {
        JobError::Transient { reason, after: error.retry_after() }
    }
}

/// A file that is neither a page nor anything else that is supported; with the type that its server names.
fn unsupported(media_type: Option<&str>) -> JobError {
    let named = media_type.and_then(MediaType::parse).map(|named| named.to_string());
    JobError::Permanent(match named {
        Some(named) => {
            format!("this file type ({}) is not supported", text::cut(&named, MAX_SHOWN_TYPE_CHARS))
        }
        None => "this file type is not supported".to_owned(),
    })
}

/// The code stands in the reason, so that a program can tell it (contract.md, section 2).
fn rejected(rejection: &UrlRejection) -> JobError {
    JobError::Permanent(format!("URL_REJECTED: {rejection}"))
}

/// Media types by which servers say that something is to be kept, and not what it is.
const UNNAMED: [&str; 8] = [
    "application/octet-stream",
    "application/x-octet-stream",
    "binary/octet-stream",
    "application/download",
    "application/x-download",
    "application/force-download",
    "application/x-force-download",
    "application/unknown",
];

/// Pages are read into memory, what may be a PDF, audio or video is written to a file, and other types are skipped.
fn body_policy(media_type: Option<&str>) -> BodyPolicy {
    let Some(said) = media_type else { return BodyPolicy::Memory };
    if is_html(said) || is_plain(media_type) {
        return BodyPolicy::Memory;
    }
    let unnamed = UNNAMED.contains(&said);
    let kept = MediaType::parse(said).and_then(|said| said.content_type()).is_some();
    if unnamed || kept { BodyPolicy::File } else { BodyPolicy::Skip }
}

pub fn is_recording(content_type: ContentType) -> bool {
    matches!(content_type, ContentType::Audio | ContentType::Video)
}

fn is_html(media_type: &str) -> bool {
    matches!(media_type, "text/html" | "application/xhtml+xml" | "application/xml" | "text/xml")
}

fn is_plain(media_type: Option<&str>) -> bool {
    media_type.is_some_and(|said| said.starts_with("text/") && !is_html(said))
}

/// What a server says that a file is; where it says nothing that helps, a film is told from sound by looking for pictures.
fn kind_said(media_type: Option<&str>) -> ContentType {
    media_type.and_then(MediaType::parse).and_then(|said| said.content_type()).unwrap_or(ContentType::Video)
}
