//! Makes the text of a document: from content that was given, or from the page at its address.

mod article;
mod fetch;

use entity::id::{DocumentId, UserId};
use entity::kind::SourceForm;
use entity::{bookmark, document, job, source};
use runtime::Lane;
use sea_orm::{ColumnTrait, ConnectionTrait, ModelTrait, QueryFilter, QuerySelect};
use web::{HostPermit, PageUrl};

use self::article::{article, text_of};
use self::fetch::{called, fetch};
use super::attempt::JobError;
use super::feed::saved;
use super::media;
use super::queue::{self, Priority, JobKind};
use super::store::{Split, Text, put_text};
use crate::ingest::context::IngestContext;
use errors::Error;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_owned;

pub(super) use fetch::{failed, is_recording};

pub(super) const LONGEST_TITLE: usize = 300;

/// Runs the job.
pub async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    let found =
        document::Entity::of(job.user_id).filter(document::Column::Id.eq(id)).one(ctx.core.db.read()).await?;
    let Some(document) = found.filter(|document| document.hidden_at.is_none()) else {
        jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
        return Ok(());
    };
    let given = to_be_read(ctx, job, id).await?;
    if given.is_none() {
        must_have_room(ctx, &document).await?;
    }
    let text = match given.clone() {
        Some(given) => from_source(ctx, job, &document, given).await?,
        // Another job took what was given.
        None if JobKind::named(&job.kind) == Some(JobKind::Text) => {
            jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
            return Ok(());
        }
        None => match fetch_in_turn(ctx, job, &document).await? {
            Some(text) => text,
            None => return media::ask(ctx, job).await,
        },
    };
    store(ctx, job, id, given, text).await
}

/// Refuses to fetch or to read a first text for a library that has no room for it. A text that replaces one may be smaller, so
/// it is judged when it is there.
///
/// # Errors
/// [`Error::LibraryFull`].
pub(super) async fn must_have_room(ctx: &IngestContext, document: &document::Model) -> Result<(), Error> {
    if document.version > 0 {
        return Ok(());
    }
    LibraryRoom::of_owner(ctx.core.db.read(), ctx, document.user_id).await?.must_fit(0)
}

/// What was given for the document and is to be read. What could not be read, and was given up, stays until the page itself
/// is in.
async fn to_be_read(ctx: &IngestContext, job: &job::Model, id: DocumentId) -> Result<Option<source::Model>, Error> {
    let given = source::Entity::one_of(job.user_id, id).one(ctx.core.db.read()).await?;
    let unread = given.is_some() && is_given_up(ctx.core.db.read(), job).await?;
    Ok(given.filter(|_| !unread))
}

/// Whether nobody tries any more to read what was given.
async fn is_given_up(db: &impl ConnectionTrait, job: &job::Model) -> Result<bool, Error> {
    let own = JobKind::named(&job.kind) == Some(JobKind::Text);
    Ok(!own && jobs::is_given_up(db, JobKind::Text, job.subject).await?)
}

/// Fetches in a turn at the host, where nobody waits for it: the pages of a feed or of an import may all be of one host.
async fn fetch_in_turn(
    ctx: &IngestContext,
    job: &job::Model,
    document: &document::Model,
) -> Result<Option<Text>, JobError> {
    let url = document.url.as_deref().and_then(|url| PageUrl::parse(url).ok());
    let _permit = url.map(|url| acquire_host(ctx, job, &url)).transpose()?;
    fetch(ctx, job, document).await
}

/// Takes the permit for the host of a URL. Jobs that a user waits for need none.
pub(super) fn acquire_host(
    ctx: &IngestContext,
    job: &job::Model,
    url: &PageUrl,
) -> Result<Option<HostPermit<UserId>>, JobError> {
    if Priority::of(job) != Priority::Backlog {
        return Ok(None);
    }
    ctx.host_throttle.acquire(url, Some(job.user_id)).map(Some).map_err(JobError::HostBusy)
}

/// Puts the text in and ends the job, in one transaction. `used` is the given content that it was made from.
pub(super) async fn store(
    ctx: &IngestContext,
    job: &job::Model,
    id: DocumentId,
    used: Option<source::Model>,
    text: Text,
) -> Result<(), JobError> {
    let split = ctx.core.workers.run(Lane::Background, move || Split::of(text)).await?;
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    // The bookmark before its document, as whoever deletes it takes them: nobody waits in a circle.
    bookmark::Entity::touch_for_document(&txn, job.user_id, id, now).await?;
    // Read again within the transaction: the person may have given a title, or deleted it, meanwhile.
    let found = document::Entity::of(job.user_id).filter(document::Column::Id.eq(id)).lock_exclusive();
    if let Some(document) = found.one(&txn).await? {
        let room = LibraryRoom::of_owner(&txn, ctx, job.user_id).await?.rewriting(&txn, Some(id)).await?;
        put_text(&txn, &document, split, Priority::of(job), now).await?;
        if JobKind::named(&job.kind) == Some(JobKind::Transcribe) {
            media::make_whole(&txn, &document).await?;
        }
        if used.is_some() && saved::wants_page(&txn, &document).await? {
            jobs::enqueue(&txn, job.user_id, JobKind::Page, id.0, Priority::of(job), now).await?;
        }
        let given = source::Entity::one_of(job.user_id, id).one(&txn).await?;
        if let Some(given) = given
            // What was given meanwhile has its own job.
            && (Some(&given) == used.as_ref() || is_given_up(&txn, job).await?)
        {
            given.delete(&txn).await?;
        }
        room.must_hold(&txn).await?;
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

async fn from_source(
    ctx: &IngestContext,
    job: &job::Model,
    document: &document::Model,
    given: source::Model,
) -> Result<Text, JobError> {
    match given.form {
        SourceForm::Text => {
            let source::Model { body, html, outline, .. } = given;
            let outline =
                outline.as_deref().map(serde_json::from_str).transpose().map_err(Error::internal)?;
            let text = ctx.core.workers.run(Lane::Background, move || text::normalize_input(&body)).await?;
            Ok(Text { text, html, outline: outline.unwrap_or_default(), ..Text::default() })
        }
        SourceForm::Html => {
            let url = document.url.clone().unwrap_or_default();
            let article = article(ctx, given.body, url, called(document)).await?;
            text_of(ctx, job, article).await
        }
    }
}
