//! Makes the text of a document: from content that was given, or from the page at its address.

use entity::id::DocumentId;
use entity::kind::{ContentType, SourceForm};
use entity::{bookmark, document, job, source};
use sea_orm::{ColumnTrait, ModelTrait, QueryFilter, QuerySelect};
use std::cell::Cell;
use std::time::Duration;

use super::attempt::Failure;
use super::feed::saved;
use super::queue::{self, Priority, Work};
use super::store::{Split, Text, put_text};
use super::{file, magic, media};
use crate::adapters::blobs::BlobError;
use crate::adapters::fetch::{ContentType as SaidType, FetchError, Fetched, Got, Take, Turn, Wanted};
use crate::adapters::sandbox::{Article, Page, SandboxError, Unreadable};
use crate::address::PageUrl;
use crate::app::App;
use crate::error::Error;
use crate::kit::Lane;
use crate::ops::notes;
use crate::text;
use crate::uploads::MediaType;

pub(super) const LONGEST_TITLE: usize = 300;

/// Runs the job.
pub async fn run(app: &App, job: &job::Model) -> Result<(), Failure> {
    let id = DocumentId(job.subject);
    let found =
        document::Entity::of(job.user_id).filter(document::Column::Id.eq(id)).one(app.db.read()).await?;
    let Some(document) = found.filter(|document| document.hidden_at.is_none()) else {
        queue::finish(app.db.write(), job, app.clock.now()).await?;
        return Ok(());
    };
    let given = source::Entity::one_of(job.user_id, id).one(app.db.read()).await?;
    let text = match given.clone() {
        Some(given) => from_source(app, job, &document, given).await?,
        // Another job took what was given.
        None if Work::named(&job.kind) == Some(Work::Text) => {
            queue::finish(app.db.write(), job, app.clock.now()).await?;
            return Ok(());
        }
        None => match fetch_in_turn(app, job, &document).await? {
            Some(text) => text,
            None => return media::ask(app, job).await,
        },
    };
    store(app, job, id, given, text).await
}

/// Fetches in a turn at the host, where nobody waits for it: the pages of a feed or of an import may all be of one host.
async fn fetch_in_turn(
    app: &App,
    job: &job::Model,
    document: &document::Model,
) -> Result<Option<Text>, Failure> {
    let url = document.url.as_deref().and_then(|url| PageUrl::parse(url).ok());
    let _turn = url.map(|url| turn_at(app, job, &url)).transpose()?;
    fetch(app, job, document).await
}

/// A turn at the host of an address; what somebody waits for needs none.
pub(super) fn turn_at(app: &App, job: &job::Model, url: &PageUrl) -> Result<Option<Turn>, Failure> {
    if Priority::of(job) != Priority::Backlog {
        return Ok(None);
    }
    app.hosts.enter(url, Some(job.user_id)).map(Some).map_err(Failure::Turn)
}

/// Puts the text in and ends the job, in one transaction. `used` is the given content that it was made from.
pub(super) async fn store(
    app: &App,
    job: &job::Model,
    id: DocumentId,
    used: Option<source::Model>,
    text: Text,
) -> Result<(), Failure> {
    let split = app.workers.run(Lane::Background, move || Split::of(text)).await?;
    let now = app.clock.now();
    let txn = app.db.begin().await?;
    if !queue::finish(&txn, job, now).await? {
        return Err(Failure::LeaseLost);
    }
    // The bookmark before its document, as whoever deletes it takes them: nobody waits in a circle.
    bookmark::Entity::touch_of(&txn, job.user_id, id, now).await?;
    // Read again within the transaction: the person may have given a title, or deleted it, meanwhile.
    let found = document::Entity::of(job.user_id).filter(document::Column::Id.eq(id)).lock_exclusive();
    if let Some(document) = found.one(&txn).await? {
        put_text(&txn, &document, split, Priority::of(job), now).await?;
        if Work::named(&job.kind) == Some(Work::Hear) {
            media::is_whole(&txn, &document).await?;
        }
        if used.is_some() && saved::wants_page(&txn, &document).await? {
            queue::ask(&txn, job.user_id, Work::Page, id.0, Priority::of(job), now).await?;
        }
        // What was given meanwhile has its own job.
        let given = source::Entity::one_of(job.user_id, id).one(&txn).await?;
        if let Some(given) = given.filter(|given| Some(given) == used.as_ref()) {
            given.delete(&txn).await?;
        }
    }
    txn.commit().await?;
    app.ingest.wake();
    Ok(())
}

async fn from_source(
    app: &App,
    job: &job::Model,
    document: &document::Model,
    given: source::Model,
) -> Result<Text, Failure> {
    match given.form {
        SourceForm::Text => {
            let source::Model { body, html, outline, .. } = given;
            let outline =
                outline.as_deref().map(serde_json::from_str).transpose().map_err(Error::internal)?;
            let text = app.workers.run(Lane::Background, move || text::as_given(&body)).await?;
            Ok(Text { text, html, outline: outline.unwrap_or_default(), ..Text::default() })
        }
        SourceForm::Html => {
            let url = document.url.clone().unwrap_or_default();
            let article = article(app, job, given.body, url, called(document)).await?;
            text_of(app, job, article).await
        }
    }
}

/// Pages that send their readers on, one after the other.
const MOST_HOPS: usize = 3;
/// A page of so many characters is there to be read, wherever it sends its readers on to.
const LITTLE: usize = 1_000;
/// Told of a file that is neither a page nor anything else that is read.
const NOT_READ: &str = "the address leads to a kind of file that is not read";

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
async fn fetch(app: &App, job: &job::Model, document: &document::Model) -> Result<Option<Text>, Failure> {
    let address = document.url.as_deref().unwrap_or_default();
    let mut url = PageUrl::parse(address).map_err(|refusal| rejected(&refusal))?;
    for hops in 0..=MOST_HOPS {
        match fetch_at(app, job, &url, called(document)).await? {
            Found::Text(text) => return Ok(Some(*text)),
            Found::Recording(kind) if hops == 0 => {
                if let Some(kind) = kind {
                    file::becomes(app, job, kind).await?;
                }
                return Ok(None);
            }
            // It would be looked for at the document's own address.
            Found::Recording(_) => return Err(Failure::Permanent(NOT_READ.to_owned())),
            Found::Elsewhere(next) => url = next,
        }
    }
    Err(Failure::Permanent("the page sends its readers on and on".to_owned()))
}

/// What its person calls a document.
fn called(document: &document::Model) -> Option<String> {
    document.title_given.then(|| document.title.clone())
}

async fn fetch_at(
    app: &App,
    job: &job::Model,
    url: &PageUrl,
    called: Option<String>,
) -> Result<Found, Failure> {
    let (said, recording) = (Cell::new(ContentType::Video), Cell::new(None));
    let how = |media_type: Option<&str>| {
        said.set(kind_said(media_type));
        let known = media_type.and_then(MediaType::parse).and_then(|said| said.content_type());
        recording.set(known.filter(|known| is_recording(*known)));
        if recording.get().is_some() { Take::Leave } else { take(media_type) }
    };
    let of_file =
        |text: Option<Text>| text.map_or(Found::Recording(None), |text| Found::Text(Box::new(text)));
    let got = app.fetcher.get_or_keep(url, Wanted::page(), &app.uploads.scratch, how).await;
    if let Err(error) = &got {
        app.hosts.heed(error);
    }
    match got.map_err(failed)? {
        Got::Page(page) if magic::at_once(&page.body).is_some() => {
            let (kept, _) = app.uploads.scratch.file().map_err(BlobError::from)?;
            tokio::fs::write(kept.path(), &page.body).await.map_err(BlobError::from)?;
            file::text(app, job, kept.path(), said.get()).await.map(of_file)
        }
        Got::Page(page)
            if magic::is_no_text(&page.body, page.content_type.as_ref().and_then(SaidType::charset)) =>
        {
            Err(Failure::Permanent(NOT_READ.to_owned()))
        }
        Got::Page(page) => {
            file::becomes(app, job, ContentType::Article).await?;
            read(app, job, *page, called).await
        }
        Got::File(kept) => file::text(app, job, kept.path(), said.get()).await.map(of_file),
        Got::Left => match recording.get() {
            Some(known) => Ok(Found::Recording(Some(known))),
            None => Err(Failure::Permanent(NOT_READ.to_owned())),
        },
    }
}

async fn read(app: &App, job: &job::Model, page: Fetched, called: Option<String>) -> Result<Found, Failure> {
    if is_plain(page.media_type()) {
        // The first line of a table, say, is no title.
        let is_prose = matches!(page.media_type(), Some("text/plain" | "text/markdown"));
        let text = app.workers.run(Lane::Background, move || text::clean(&page.text())).await?;
        if text.trim().is_empty() {
            return Err(Failure::Permanent("the page has no text".to_owned()));
        }
        let title = is_prose.then(|| notes::first_line(&text));
        return Ok(Found::Text(Box::new(Text { text, title, ..Text::default() })));
    }
    let url = page.url.as_str().to_owned();
    let html = app.workers.run(Lane::Background, move || page.text()).await?;
    let article = article(app, job, html, url, called).await?;
    let next = article.moved_to.as_deref().and_then(|next| PageUrl::parse(next).ok());
    match next.filter(|_| article.text.chars().nth(LITTLE).is_none()) {
        Some(next) => Ok(Found::Elsewhere(next)),
        None => text_of(app, job, article).await.map(|text| Found::Text(Box::new(text))),
    }
}

pub(super) fn failed(error: FetchError) -> Failure {
    if let FetchError::Rejected(refusal) = &error {
        return rejected(refusal);
    }
    let reason = format!("the page {error}");
    if error.permanent() {
        Failure::Permanent(reason)
    } else {
        Failure::Passing { reason, after: error.retry_after() }
    }
}

/// The code stands in the reason, so that a program can tell it (contract.md, section 2).
fn rejected(refusal: &crate::address::Refusal) -> Failure {
    Failure::Permanent(format!("URL_REJECTED: the address {refusal}"))
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

/// Pages are read, what may be a PDF, audio or video is kept as a file, and the rest is left.
fn take(media_type: Option<&str>) -> Take {
    let Some(said) = media_type else { return Take::Read };
    if is_html(said) || is_plain(media_type) {
        return Take::Read;
    }
    let unnamed = UNNAMED.contains(&said);
    let kept = MediaType::parse(said).and_then(|said| said.content_type()).is_some();
    if unnamed || kept { Take::Keep } else { Take::Leave }
}

pub(super) fn is_recording(content_type: ContentType) -> bool {
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

async fn article(
    app: &App,
    job: &job::Model,
    html: String,
    url: String,
    called: Option<String>,
) -> Result<Article, Failure> {
    app.sandbox.article(Page { html, url, called }).await.map_err(|error| unread(error, job))
}

async fn text_of(app: &App, job: &job::Model, article: Article) -> Result<Text, Failure> {
    if article.text.is_empty() {
        // A page of pictures, or of a script, is known by its title all the same.
        return Err(with_title_alone(app, job, article.title).await?);
    }
    Ok(from_article(article))
}

/// Keeps the title of a page that has nothing else; why its document has no text.
async fn with_title_alone(app: &App, job: &job::Model, title: Option<String>) -> Result<Failure, Error> {
    file::name_in_place_of_address(app, job, |_| title.map(|title| text::cut(&title, LONGEST_TITLE))).await?;
    Ok(Failure::Permanent(Unreadable::NoText.to_string()))
}

/// What crashes, hangs or bloats its parser is tried so often.
pub(super) const MOST_TRIES: i32 = 3;

/// What it means for a job that the sandbox made no text: what a parser did not survive, it may survive when the machine
/// is less busy; what it understood will not change.
pub(crate) fn unread(error: SandboxError, job: &job::Model) -> Failure {
    let reason = error.to_string();
    match error {
        SandboxError::Unavailable(_) => Failure::Passing { reason, after: Some(Duration::from_secs(5)) },
        SandboxError::Crashed | SandboxError::TimedOut if job.attempts < MOST_TRIES => {
            Failure::Passing { reason, after: None }
        }
        SandboxError::Crashed
        | SandboxError::TimedOut
        | SandboxError::TooLarge
        | SandboxError::Unreadable(_)
        | SandboxError::Unheard(_)
        | SandboxError::NoText(_)
        | SandboxError::NoImport(_) => Failure::Permanent(reason),
    }
}

fn from_article(article: Article) -> Text {
    Text {
        text: article.text,
        html: article.html,
        outline: article.outline,
        title: article.title.map(|title| text::cut(&title, LONGEST_TITLE)),
        author: article.author.map(|author| text::cut(&author, LONGEST_TITLE)),
        site_name: article.site_name.map(|name| text::cut(&name, LONGEST_TITLE)),
        description: article.description,
        image_url: article.image_url,
        published_at: article.published_at,
        canonical_url: article.canonical_url,
        language: article.language,
        ..Text::default()
    }
}

#[cfg(test)]
mod tests {
    use entity::id::UserId;
    use entity::kind::JobState;
    use entity::time::Timestamp;

    use super::*;

    fn tried(attempts: i32) -> job::Model {
        let now = Timestamp::from_millis(0);
        job::Model {
            state: JobState::Running,
            attempts,
            ..job::Model::queued(UserId::new(now), Work::Page.name(), DocumentId::new(now).0, (0, 0), now)
        }
    }

    #[test]
    fn what_its_parser_does_not_survive_is_tried_three_times() {
        for error in [|| SandboxError::Crashed, || SandboxError::TimedOut] {
            let ends =
                [1, 2, 3].map(|attempts| matches!(unread(error(), &tried(attempts)), Failure::Permanent(_)));
            assert_eq!(ends, [false, false, true]);
        }
        assert!(matches!(unread(SandboxError::TooLarge, &tried(1)), Failure::Permanent(_)));
    }
}
