//! Makes the text of a document: from content that was given, or from the page at its address.

use entity::id::DocumentId;
use entity::kind::SourceForm;
use entity::{document, job, source};
use sea_orm::{ColumnTrait, EntityTrait, ModelTrait, QueryFilter, QuerySelect};
use std::time::Duration;

use super::actor::Failure;
use super::feed::saved;
use super::queue::{self, Priority, Work};
use super::store::{Split, Text, put_text};
use crate::adapters::fetch::{FetchError, Turn, Wanted};
use crate::adapters::sandbox::{Article, Page, SandboxError};
use crate::address::PageUrl;
use crate::app::App;
use crate::error::Error;
use crate::kit::Lane;
use crate::text;

const LONGEST_TITLE: usize = 300;

/// Runs the job.
pub async fn run(app: &App, job: &job::Model) -> Result<(), Failure> {
    let id = DocumentId(job.subject);
    let found =
        document::Entity::of(job.user_id).filter(document::Column::Id.eq(id)).one(app.db.read()).await?;
    let Some(document) = found.filter(|document| document.hidden_at.is_none()) else {
        queue::finish(app.db.write(), job, app.clock.now()).await?;
        return Ok(());
    };
    let given = source::Entity::find_by_id(id).one(app.db.read()).await?;
    let text = match given.clone() {
        Some(given) => from_source(app, &document, given).await?,
        // Another job took what was given.
        None if Work::named(&job.kind) == Some(Work::Text) => {
            queue::finish(app.db.write(), job, app.clock.now()).await?;
            return Ok(());
        }
        None => {
            let _turn = turn(app, job, &document)?;
            fetch(app, &document).await?
        }
    };
    store(app, job, id, given, text).await
}

/// A turn at the host, for the pages of a feed: nobody waits for them, and all of them may be of one host.
fn turn(app: &App, job: &job::Model, document: &document::Model) -> Result<Option<Turn>, Failure> {
    let url = document.url.as_deref().and_then(|url| PageUrl::parse(url).ok());
    let Some(url) = url.filter(|_| document.entry_id.is_some() && Priority::of(job) == Priority::Backlog)
    else {
        return Ok(None);
    };
    // Those that wait come again at different times.
    let share = job.id.0.as_bytes().last().copied().unwrap_or_default();
    let later = Duration::from_secs(2 + u64::from(share) / 8);
    Ok(Some(app.hosts.enter(&url).ok_or(Error::Busy(later))?))
}

async fn store(
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
    // Read again within the transaction: the person may have given a title, or deleted it, meanwhile.
    let found = document::Entity::of(job.user_id).filter(document::Column::Id.eq(id)).lock_exclusive();
    if let Some(document) = found.one(&txn).await? {
        put_text(&txn, &document, split, Priority::of(job), now).await?;
        if used.is_some() && saved::wants_page(&txn, &document).await? {
            queue::ask(&txn, job.user_id, Work::Page, id.0, Priority::of(job), now).await?;
        }
        // What was given meanwhile has its own job.
        let given = source::Entity::find_by_id(id).one(&txn).await?;
        if let Some(given) = given.filter(|given| Some(given) == used.as_ref()) {
            given.delete(&txn).await?;
        }
    }
    txn.commit().await?;
    app.ingest.wake();
    Ok(())
}

async fn from_source(app: &App, document: &document::Model, given: source::Model) -> Result<Text, Failure> {
    match given.form {
        SourceForm::Text => {
            let body = given.body;
            let text = app.workers.run(Lane::Background, move || text::clean(&body)).await?;
            Ok(Text { text, ..Text::default() })
        }
        SourceForm::Html => extract(app, given.body, document.url.clone().unwrap_or_default()).await,
    }
}

async fn fetch(app: &App, document: &document::Model) -> Result<Text, Failure> {
    let address = document.url.as_deref().unwrap_or_default();
    let url = PageUrl::parse(address).map_err(|refusal| rejected(&refusal))?;
    let fetched = app.fetcher.get(&url, Wanted::page()).await.map_err(failed)?;
    match kind_of(fetched.media_type()) {
        Kind::Html => {
            let url = fetched.url.as_str().to_owned();
            let html = app.workers.run(Lane::Background, move || fetched.text()).await?;
            extract(app, html, url).await
        }
        Kind::Plain => {
            let text = app.workers.run(Lane::Background, move || text::clean(&fetched.text())).await?;
            if text.trim().is_empty() {
                return Err(Failure::Permanent("the page has no text".to_owned()));
            }
            Ok(Text { text, ..Text::default() })
        }
        Kind::Other => {
            Err(Failure::Permanent("the address leads to a kind of file that is not read".to_owned()))
        }
    }
}

fn failed(error: FetchError) -> Failure {
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

enum Kind {
    Html,
    Plain,
    Other,
}

fn kind_of(media_type: Option<&str>) -> Kind {
    match media_type {
        None | Some("text/html" | "application/xhtml+xml" | "application/xml" | "text/xml") => Kind::Html,
        Some(plain) if plain.starts_with("text/") => Kind::Plain,
        Some(_) => Kind::Other,
    }
}

async fn extract(app: &App, html: String, url: String) -> Result<Text, Failure> {
    let article = app.sandbox.article(Page { html, url }).await.map_err(|error| match error {
        SandboxError::Unavailable(_) => {
            Failure::Passing { reason: format!("could not {error}"), after: Some(Duration::from_secs(5)) }
        }
        SandboxError::Unreadable(reason) => Failure::Permanent(reason.to_string()),
        SandboxError::Crashed | SandboxError::TimedOut => {
            Failure::Passing { reason: format!("could not {error}"), after: None }
        }
        SandboxError::TooLarge => Failure::Permanent(format!("could not {error}")),
    })?;
    Ok(from_article(article))
}

fn from_article(article: Article) -> Text {
    Text {
        text: article.text,
        title: article.title.map(|title| text::cut(&title, LONGEST_TITLE)),
        author: article.author.map(|author| text::cut(&author, LONGEST_TITLE)),
        site_name: article.site_name.map(|name| text::cut(&name, LONGEST_TITLE)),
        description: article.description,
        image_url: article.image_url,
        language: article.language,
    }
}
