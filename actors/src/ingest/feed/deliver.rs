//! Gives a follower the entries of a feed's copy as own rows: new ones with documents of their own, changed ones anew.
//! What is there already is left as it is, so it may run twice.

use std::collections::{HashMap, HashSet};

use database::insert_all;
use entity::id::{DocumentId, EntryId, FeedId};
use entity::kind::{ContentType, SourceForm};
use entity::time::Timestamp;
use entity::{bookmark, document, entry, feed, job};
use parse::feed::{Feed, Item};
use runtime::Lane;
use sea_orm::ActiveValue::NotSet;
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, Condition, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter,
    QueryOrder, QuerySelect,
};
use sha2::{Digest, Sha256};
use web::PageUrl;

use super::super::media;
use super::source;
use crate::ingest::context::IngestContext;
use errors::Error;
use crate::ingest::attempt::JobError;
use jobs::{Priority, JobKind};
use library::library_quota::LibraryRoom;
use library::bookmarks::save::{Content, give};
use library::owned_transaction::begin_owned;

/// An entry as it came, with what it is compared by.
#[derive(Debug)]
pub struct Coming {
    item: Item,
    url: String,
    normalized: String,
    key: Vec<u8>,
    content: Vec<u8>,
}

/// Runs the job.
pub async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let own = || feed::Entity::one_of(job.user_id, FeedId(job.subject));
    let coming = match own().one(ctx.core.db.read()).await? {
        Some(feed) => match source::copy(ctx.core.db.read(), feed.source_id).await? {
            Some(copy) => ctx.core.workers.run(Lane::Background, move || prepare(copy, &feed.url)).await?,
            None => Vec::new(),
        },
        None => Vec::new(),
    };
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    // Held before its entries and documents, as whoever leaves it does: nobody waits in a circle.
    if let Some(feed) = own().lock(LockType::KeyShare).one(&txn).await? {
        let room = LibraryRoom::of_owner(&txn, ctx, job.user_id).await?;
        deliver(&txn, &feed, coming, now).await?;
        room.must_hold(&txn).await?;
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

/// Makes a feed's entries comparable. An entry without a page of its own has the feed's.
pub fn prepare(feed: Feed, feed_url: &str) -> Vec<Coming> {
    let otherwise = feed.site_url.unwrap_or_else(|| feed_url.to_owned());
    let coming = feed.items.into_iter().map(|item| {
        let url = item.url.clone().unwrap_or_else(|| otherwise.clone());
        // What has no page of its own is no page's, though it is shown at the feed's.
        let own = item.url.as_deref().map(PageUrl::parse);
        let normalized =
            own.map_or_else(String::new, |page| page.map_or_else(|_| url.clone(), |page| page.key()));
        Coming { key: hash([item.key.as_str()]), content: content_hash(&item), item, url, normalized }
    });
    coming.collect()
}

fn content_hash(item: &Item) -> Vec<u8> {
    let Item { url, title, author, summary, text, enclosure, .. } = item;
    let enclosed = enclosure.as_ref().map(|enclosure| enclosure.url.as_str());
    let said =
        [url.as_deref(), Some(title.as_str()), author.as_deref(), summary.as_deref(), Some(text), enclosed];
    hash(said.map(Option::unwrap_or_default))
}

fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in parts {
        // With its length, so that two lists of parts never look alike.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().to_vec()
}

/// Gives the entries to a feed's follower, in the caller's transaction.
pub async fn deliver(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    coming: Vec<Coming>,
    now: Timestamp,
) -> Result<(), Error> {
    if coming.is_empty() {
        return Ok(());
    }
    let mut there = there(txn, feed, &coming).await?;
    let (mut new, mut changed) = (Vec::new(), Vec::new());
    for coming in coming {
        match there.take(&coming) {
            Some(row) if row.content_hash == coming.content => known_by(txn, &row, &coming).await?,
            Some(row) => changed.push((row, coming)),
            None => new.push(coming),
        }
    }
    lock_unsaved(txn, feed, &changed).await?;
    for (row, coming) in changed {
        change(txn, feed, row, coming, now).await?;
    }
    insert(txn, feed, new, now).await
}

/// An entry that says the same under another id is known by that from now on: the next one under its old id is another.
async fn known_by(txn: &impl ConnectionTrait, row: &entry::Model, coming: &Coming) -> Result<(), Error> {
    if row.key_hash != coming.key {
        entry::Entity::update_many()
            .col_expr(entry::Column::KeyHash, Expr::value(coming.key.clone()))
            .filter(entry::Column::UserId.eq(row.user_id))
            .filter(entry::Column::Id.eq(row.id))
            .exec(txn)
            .await?;
    }
    Ok(())
}

/// The feed's entries that may be among those that come.
struct There {
    /// By their ids in the feed.
    known: HashMap<Vec<u8>, entry::Model>,
    /// Those whose ids the feed does not give any more.
    others: Vec<entry::Model>,
}

impl There {
    /// By its id in the feed; else by page and title, for feeds that give their entries other ids. Each is one of those that
    /// come, and one that still comes under its own id is no other's.
    fn take(&mut self, coming: &Coming) -> Option<entry::Model> {
        if let Some(row) = self.known.remove(&coming.key) {
            return Some(row);
        }
        let at = self.others.iter().position(|row| is_same_page(row, coming))?;
        Some(self.others.swap_remove(at))
    }
}

/// A show's episodes may all lead to its one page, and comments on a page differ in the part behind `#` alone. What has no
/// page is the same where all of it is.
fn is_same_page(row: &entry::Model, coming: &Coming) -> bool {
    let part = |url: &str| url.split_once('#').map(|(_, part)| part.to_owned());
    let says_the_same = row.content_hash == coming.content;
    row.normalized_url == coming.normalized
        && row.title == coming.item.title
        && part(&row.url) == part(&coming.url)
        && (says_the_same || (!coming.normalized.is_empty() && is_of_one_time(row, coming)))
}

fn is_of_one_time(row: &entry::Model, coming: &Coming) -> bool {
    let told = coming.item.published_at.map(Timestamp::from_millis);
    told.is_some() && row.published_at == told
}

async fn there(txn: &impl ConnectionTrait, feed: &feed::Model, coming: &[Coming]) -> Result<There, Error> {
    let keys = coming.iter().map(|coming| coming.key.clone());
    let pages = coming.iter().map(|coming| coming.normalized.clone()).filter(|page| !page.is_empty());
    let without = coming.iter().filter(|coming| coming.normalized.is_empty());
    let without = without.map(|coming| coming.content.clone());
    let known = Condition::any()
        .add(entry::Column::KeyHash.is_in(keys))
        .add(entry::Column::NormalizedUrl.is_in(pages))
        .add(
            Condition::all()
                .add(entry::Column::NormalizedUrl.eq(""))
                .add(entry::Column::ContentHash.is_in(without)),
        );
    let own = entry::Entity::owned_by(feed.user_id).filter(entry::Column::FeedId.eq(feed.id));
    let given: HashSet<&Vec<u8>> = coming.iter().map(|coming| &coming.key).collect();
    let rows = own.filter(known).all(txn).await?;
    let (known, others) = rows.into_iter().partition::<Vec<_>, _>(|row| given.contains(&row.key_hash));
    Ok(There { known: known.into_iter().map(|row| (row.key_hash.clone(), row)).collect(), others })
}

/// Locks the documents of these entries, except saved ones, whose texts stay. A transcript that is stored at the same time is then
/// either visible here, or cancels the jobs that are queued here. Locked in the order of their ids, which prevents deadlocks.
async fn lock_unsaved(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    changed: &[(entry::Model, Coming)],
) -> Result<(), Error> {
    let _: Vec<DocumentId> = document::Entity::of(feed.user_id)
        .filter(document::Column::Id.is_in(changed.iter().map(|(row, _)| row.document_id)))
        .filter(document::Column::BookmarkId.is_null())
        .select_only()
        .column(document::Column::Id)
        .order_by_asc(document::Column::Id)
        .lock(LockType::NoKeyUpdate)
        .into_tuple()
        .all(txn)
        .await?;
    Ok(())
}

/// An update. The text of what the person saved stays as it was saved: there may be marks in it.
async fn change(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    row: entry::Model,
    coming: Coming,
    now: Timestamp,
) -> Result<(), Error> {
    let saved = bookmark::Entity::with_deleted(feed.user_id)
        .filter(bookmark::Column::DocumentId.eq(row.document_id))
        .one(txn)
        .await?;
    let heard = media::is_heard(txn, feed.user_id, row.document_id).await?;
    let fresh = entry_row(feed, row.document_id, &coming, now);
    let kept = entry::Model {
        id: row.id,
        whole: if saved.is_some() || heard { row.whole } else { fresh.whole },
        published_at: fresh.published_at.or(row.published_at),
        sorted_at: row.sorted_at,
        created_at: row.created_at,
        ..fresh
    };
    let page_wanted = feed.full_text && !kept.whole && !kept.is_recording();
    let mut changed = kept.into_active_model().reset_all();
    // What the person does with it meanwhile stays.
    (changed.read, changed.starred) = (NotSet, NotSet);
    if saved.is_some() || heard {
        // A transcript may have completed it since the row was read.
        changed.whole = NotSet;
    }
    entry::Entity::update(changed).exec(txn).await?;
    if saved.is_some() {
        return Ok(());
    }
    document::Entity::update_many()
        .col_expr(document::Column::Title, Expr::value(coming.item.title.clone()))
        .col_expr(document::Column::Author, Expr::value(coming.item.author.clone()))
        .col_expr(document::Column::Description, Expr::value(coming.item.summary.clone()))
        .filter(document::Column::UserId.eq(feed.user_id))
        .filter(document::Column::Id.eq(row.document_id))
        .exec(txn)
        .await?;
    if heard {
        // A transcript says more than the notes of the episode.
        return Ok(());
    }
    let work = if page_wanted { JobKind::Page } else { JobKind::Text };
    if !page_wanted {
        give_content(txn, feed, vec![(row.document_id, coming.item)]).await?;
    }
    jobs::enqueue(txn, feed.user_id, work, row.document_id.0, Priority::Backlog, now).await?;
    Ok(())
}

async fn insert(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    new: Vec<Coming>,
    now: Timestamp,
) -> Result<(), Error> {
    let saved = saved_pages(txn, feed, &new).await?;
    let (mut documents, mut entries, mut contents) = (Vec::new(), Vec::new(), Vec::new());
    for coming in new {
        if let Some(document) = saved.get(&coming.normalized) {
            // The page is there already: nothing of it is to be fetched for the feed's sake.
            let row = entry::Model { whole: true, ..entry_row(feed, *document, &coming, now) };
            join(txn, &row, now).await?;
            entries.push(row);
            continue;
        }
        let document = document_row(feed, &coming, now);
        let row = entry_row(feed, document.id, &coming, now);
        contents.push((document.id, coming.item));
        documents.push(document::Model { entry_id: Some(row.id), ..document });
        entries.push(row);
    }
    let texts: Vec<DocumentId> = contents.iter().map(|(id, _)| *id).collect();
    insert_all::<document::Entity>(txn, documents, None).await?;
    insert_all::<entry::Entity>(txn, entries, None).await?;
    give_content(txn, feed, contents).await?;
    let texts = texts.into_iter().map(|document| document.0);
    jobs::enqueue_all(txn, feed.user_id, JobKind::Text, texts, Priority::Backlog, now).await?;
    Ok(())
}

/// Documents of the follower's bookmarks whose pages are those of new entries, by address: an entry that is saved already
/// has that one document. A page that several entries name is nobody's own.
async fn saved_pages(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    new: &[Coming],
) -> Result<HashMap<String, DocumentId>, Error> {
    let (mut once, mut twice) = (HashSet::new(), HashSet::new());
    for coming in new {
        if !once.insert(coming.normalized.clone()) {
            twice.insert(coming.normalized.clone());
        }
    }
    let own = once.difference(&twice).cloned();
    let saved = bookmark::Entity::owned_by(feed.user_id).filter(bookmark::Column::NormalizedUrl.is_in(own));
    let saved: HashMap<DocumentId, String> =
        saved.all(txn).await?.into_iter().map(|row| (row.document_id, row.normalized_url)).collect();
    let free = document::Entity::readable_by(feed.user_id)
        .filter(document::Column::Id.is_in(saved.keys().copied()))
        .filter(document::Column::EntryId.is_null())
        .all(txn)
        .await?;
    Ok(free.into_iter().filter_map(|row| Some((saved.get(&row.id)?.clone(), row.id))).collect())
}

/// The saved page's document is the entry's too from now on.
async fn join(txn: &impl ConnectionTrait, row: &entry::Model, now: Timestamp) -> Result<(), Error> {
    document::Entity::update_many()
        .col_expr(document::Column::EntryId, Expr::value(Some(row.id)))
        .col_expr(document::Column::FeedId, Expr::value(Some(row.feed_id)))
        .filter(document::Column::UserId.eq(row.user_id))
        .filter(document::Column::Id.eq(row.document_id))
        .exec(txn)
        .await?;
    jobs::enqueue(txn, row.user_id, JobKind::UpdateLabels, row.document_id.0, Priority::Backlog, now).await?;
    Ok(())
}

/// Puts texts beside their documents, to be taken in by the work that makes pages text.
async fn give_content(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    items: Vec<(DocumentId, Item)>,
) -> Result<(), Error> {
    let content = |item: Item| Content {
        form: SourceForm::Text,
        body: item.text,
        html: item.html,
        outline: serde_json::to_string(&item.outline).ok(),
    };
    let contents = items.into_iter().map(|(id, item)| (id, content(item)));
    give(txn, feed.user_id, contents).await
}

fn entry_row(feed: &feed::Model, document: DocumentId, coming: &Coming, now: Timestamp) -> entry::Model {
    let published_at = coming.item.published_at.map(Timestamp::from_millis);
    let enclosure = coming.item.enclosure.clone();
    entry::Model {
        id: EntryId::new(now),
        user_id: feed.user_id,
        feed_id: feed.id,
        document_id: document,
        key_hash: coming.key.clone(),
        content_hash: coming.content.clone(),
        url: coming.url.clone(),
        normalized_url: coming.normalized.clone(),
        title: coming.item.title.clone(),
        author: coming.item.author.clone(),
        summary: coming.item.summary.clone(),
        whole: coming.item.whole || coming.item.url.is_none(),
        enclosure_bytes: enclosure.as_ref().and_then(|enclosure| enclosure.bytes),
        enclosure_type: enclosure.as_ref().and_then(|enclosure| enclosure.media_type.clone()),
        enclosure_url: enclosure.map(|enclosure| enclosure.url),
        published_at,
        sorted_at: published_at.map_or(now, |published| published.min(now)),
        read: false,
        starred: false,
        created_at: now,
    }
}

fn document_row(feed: &feed::Model, coming: &Coming, now: Timestamp) -> document::Model {
    let title = coming.item.title.clone();
    document::Model {
        feed_id: Some(feed.id),
        url: Some(coming.url.clone()),
        author: coming.item.author.clone(),
        description: coming.item.summary.clone(),
        ..document::Model::pending(feed.user_id, ContentType::Article, title, now)
    }
}
