//! Gives a follower the entries of a source's copy as separate rows: new entries with documents, changed ones as updates.
//! Entries that exist unchanged are left as they are, so a delivery may run twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use database::insert_all;
use entity::{bookmark, document, entry, feed, job};
use errors::Error;
use jobs::{JobError, JobKind, Priority};
use library::documents::{SuppliedContent, store_supplied_content, unindexed_since};
use library::feeds::MuteRules;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_owned;
use parse::feed::Item;
use sea_orm::ActiveValue::NotSet;
use sea_orm::sea_query::{Expr, LockType};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
};
use values::id::{DocumentId, EntryId, FeedId};
use values::kind::{ContentType, SourceFormat};
use values::time::Timestamp;

use super::context::FeedContext;
use super::existing_entries::ExistingEntries;
use super::incoming_entry::IncomingEntry;
use crate::ingest::media;

/// Runs a job of kind [`JobKind::DeliverEntries`]: delivers the copy of a source to one of its followers.
///
/// # Errors
/// [`Error::LibraryFull`] when the library has no room for the entries; [`JobError::LeaseLost`]; the database fails.
pub async fn run(ctx: &FeedContext, job: &job::Model) -> Result<(), JobError> {
    let own = || feed::Entity::one_of(job.user_id, FeedId(job.subject));
    // Prepared before the transaction, because parsing and hashing a large feed takes long.
    let incoming = match own().one(ctx.core.db.read()).await? {
        Some(feed) => ctx.prepared_copies.load(&ctx.core, feed.source_id, feed.url).await?,
        None => Arc::default(),
    };
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    // Lock order: the feed before its entries and documents, as in `library::feeds::unfollow` (prevents deadlocks).
    if let Some(feed) = own().lock(LockType::KeyShare).one(&txn).await? {
        let room = LibraryRoom::of_owner(&txn, &ctx.core, job.user_id).await?;
        deliver_entries(&txn, &feed, &incoming.entries, now).await?;
        room.must_hold(&txn).await?;
    }
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

/// Inserts or updates the entries of a follower's feed, in the caller's transaction.
pub async fn deliver_entries(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    incoming: &[IncomingEntry],
    now: Timestamp,
) -> Result<(), Error> {
    if incoming.is_empty() {
        return Ok(());
    }
    let mut existing = ExistingEntries::load(txn, feed, incoming).await?;
    let (mut new, mut changed) = (Vec::new(), Vec::new());
    for incoming in incoming {
        match existing.take_match(incoming) {
            Some(row) if row.content_hash == incoming.content_hash => {
                update_key(txn, &row, incoming).await?;
            }
            Some(row) => changed.push((row, incoming)),
            None => new.push(incoming),
        }
    }
    if !changed.is_empty() {
        lock_unsaved(txn, feed, &changed).await?;
    }
    for (row, incoming) in changed {
        update_entry(txn, feed, row, incoming, now).await?;
    }
    if new.is_empty() {
        return Ok(());
    }
    insert_entries(txn, feed, new, now).await
}

/// Stores the id that the feed now gives an unchanged entry: a later entry with the old id is another one.
async fn update_key(
    txn: &impl ConnectionTrait,
    row: &entry::Model,
    incoming: &IncomingEntry,
) -> Result<(), Error> {
    if row.key_hash != incoming.key_hash {
        entry::Entity::update_owned(row.user_id)
            .col_expr(entry::Column::KeyHash, Expr::value(incoming.key_hash.clone()))
            .filter(entry::Column::Id.eq(row.id))
            .exec(txn)
            .await?;
    }
    Ok(())
}

/// Locks the documents of these entries, except bookmarked ones, whose texts stay. A transcript that is stored at the same time
/// is then either visible here, or cancels the jobs that are queued here. Locked in the
/// order of their ids, which prevents deadlocks.
async fn lock_unsaved(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    changed: &[(entry::Model, &IncomingEntry)],
) -> Result<(), Error> {
    let _: Vec<DocumentId> = document::Entity::with_hidden(feed.user_id)
        .filter(document::Column::Id.is_in(changed.iter().map(|(row, _)| row.document_id)))
        .filter(document::Column::BookmarkId.is_null())
        .select_only()
        .column(document::Column::Id)
        .order_by_asc(document::Column::Id)
        // NO KEY UPDATE: rows that refer to the documents may be inserted meanwhile, because their foreign keys only lock the key.
        .lock(LockType::NoKeyUpdate)
        .into_tuple()
        .all(txn)
        .await?;
    Ok(())
}

/// Updates an entry that the feed changed. The text of a bookmarked document stays, because the user may have highlighted it.
async fn update_entry(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    row: entry::Model,
    incoming: &IncomingEntry,
    now: Timestamp,
) -> Result<(), Error> {
    let bookmark = bookmark::Entity::with_deleted(feed.user_id)
        .filter(bookmark::Column::DocumentId.eq(row.document_id))
        .one(txn)
        .await?;
    let is_bookmarked = bookmark.is_some();
    let is_transcribed = media::has_transcript(txn, feed.user_id, row.document_id).await?;
    let fresh = entry_row(feed, row.document_id, incoming, now);
    let updated = entry::Model {
        id: row.id,
        has_full_text: if is_bookmarked || is_transcribed { row.has_full_text } else { fresh.has_full_text },
        published_at: fresh.published_at.or(row.published_at),
        sorted_at: row.sorted_at,
        created_at: row.created_at,
        ..fresh
    };
    let needs_page = feed.full_text && !updated.has_full_text && !updated.is_recording();
    let mut changed = updated.into_active_model().reset_all();
    // The user may change these at the same time.
    (changed.read, changed.starred) = (NotSet, NotSet);
    if is_bookmarked || is_transcribed {
        // A transcript may have set it since the row was read.
        changed.has_full_text = NotSet;
    }
    entry::Entity::update_owned_row(txn, feed.user_id, changed).await?;
    if is_bookmarked {
        return Ok(());
    }
    document::Entity::update_owned(feed.user_id)
        .col_expr(document::Column::Title, Expr::value(incoming.item.title.clone()))
        .col_expr(document::Column::Author, Expr::value(incoming.item.author.clone()))
        .col_expr(document::Column::Description, Expr::value(incoming.item.summary.clone()))
        .col_expr(document::Column::UnindexedSince, unindexed_since(now))
        .filter(document::Column::Id.eq(row.document_id))
        .exec(txn)
        .await?;
    if is_transcribed {
        // The transcript is the document's text. The text of the feed only describes the episode.
        return Ok(());
    }
    let kind = if needs_page { JobKind::FetchPage } else { JobKind::ProcessText };
    // A text of the feed would be read in place of the page.
    if !needs_page {
        store_texts(txn, feed, vec![(row.document_id, &incoming.item)]).await?;
    }
    jobs::enqueue(txn, feed.user_id, kind, row.document_id.0, Priority::Backlog, now).await?;
    Ok(())
}

async fn insert_entries(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    new: Vec<&IncomingEntry>,
    now: Timestamp,
) -> Result<(), Error> {
    let bookmarked = bookmarked_pages(txn, feed, &new).await?;
    let (mut documents, mut entries, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for incoming in new {
        if let Some(document) = bookmarked.get(&incoming.normalized_url) {
            // The bookmark has the page already, so there is nothing to fetch.
            let row = entry::Model { has_full_text: true, ..entry_row(feed, *document, incoming, now) };
            share_document(txn, &row, now).await?;
            entries.push(row);
            continue;
        }
        let document = document_row(feed, incoming, now);
        let row = entry_row(feed, document.id, incoming, now);
        texts.push((document.id, &incoming.item));
        documents.push(document::Model { entry_id: Some(row.id), ..document });
        entries.push(row);
    }
    mute_entries(txn, feed, &mut entries).await?;
    let ids: Vec<DocumentId> = texts.iter().map(|(id, _)| *id).collect();
    insert_all::<document::Entity>(txn, documents, None).await?;
    insert_all::<entry::Entity>(txn, entries, None).await?;
    store_texts(txn, feed, texts).await?;
    let ids = ids.into_iter().map(|document| document.0);
    jobs::enqueue_all(txn, feed.user_id, JobKind::ProcessText, ids, Priority::Backlog, now).await?;
    Ok(())
}

/// Marks the entries as read that the follower's muted words occur in.
async fn mute_entries(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    entries: &mut [entry::Model],
) -> Result<(), Error> {
    let rules = MuteRules::load(txn, feed.user_id, feed.id).await?;
    for row in entries {
        row.read = rules.mute(&row.title, row.summary.as_deref());
    }
    Ok(())
}

/// Returns the documents of the follower's bookmarks that are the pages of new entries, by normalised URL: such an entry shares
/// the document. A URL that several new entries name does not identify any of them.
async fn bookmarked_pages(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    new: &[&IncomingEntry],
) -> Result<HashMap<String, DocumentId>, Error> {
    let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
    for incoming in new {
        if !seen.insert(incoming.normalized_url.clone()) {
            repeated.insert(incoming.normalized_url.clone());
        }
    }
    let unique: Vec<String> = seen.difference(&repeated).cloned().collect();
    if unique.is_empty() {
        return Ok(HashMap::new());
    }
    let bookmarks =
        bookmark::Entity::visible_to(feed.user_id).filter(bookmark::Column::NormalizedUrl.is_in(unique));
    let bookmarks: HashMap<DocumentId, String> =
        bookmarks.all(txn).await?.into_iter().map(|row| (row.document_id, row.normalized_url)).collect();
    if bookmarks.is_empty() {
        return Ok(HashMap::new());
    }
    let without_entry = document::Entity::visible_to(feed.user_id)
        .filter(document::Column::Id.is_in(bookmarks.keys().copied()))
        .filter(document::Column::EntryId.is_null())
        .all(txn)
        .await?;
    let pages = without_entry.into_iter().filter_map(|row| Some((bookmarks.get(&row.id)?.clone(), row.id)));
    Ok(pages.collect())
}

/// Makes the document of a bookmark the entry's document too.
async fn share_document(txn: &impl ConnectionTrait, row: &entry::Model, now: Timestamp) -> Result<(), Error> {
    document::Entity::update_owned(row.user_id)
        .col_expr(document::Column::EntryId, Expr::value(Some(row.id)))
        .col_expr(document::Column::FeedId, Expr::value(Some(row.feed_id)))
        .col_expr(document::Column::UnindexedSince, unindexed_since(now))
        .filter(document::Column::Id.eq(row.document_id))
        .exec(txn)
        .await?;
    Ok(())
}

/// Stores the texts of the feed for the jobs that make them the texts of the documents.
async fn store_texts(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    items: Vec<(DocumentId, &Item)>,
) -> Result<(), Error> {
    let content = |item: &Item| SuppliedContent {
        format: SourceFormat::Text,
        body: item.text.clone(),
        html: item.html.clone(),
        outline: serde_json::to_string(&item.outline).ok(),
    };
    let contents = items.into_iter().map(|(id, item)| (id, content(item)));
    store_supplied_content(txn, feed.user_id, contents).await
}

fn entry_row(
    feed: &feed::Model,
    document: DocumentId,
    incoming: &IncomingEntry,
    now: Timestamp,
) -> entry::Model {
    let published_at = incoming.item.published_at.map(Timestamp::from_millis);
    let enclosure = incoming.item.enclosure.clone();
    entry::Model {
        id: EntryId::new(now),
        user_id: feed.user_id,
        feed_id: feed.id,
        document_id: document,
        key_hash: incoming.key_hash.clone(),
        content_hash: incoming.content_hash.clone(),
        url: incoming.url.clone(),
        normalized_url: incoming.normalized_url.clone(),
        title: incoming.item.title.clone(),
        author: incoming.item.author.clone(),
        summary: incoming.item.summary.clone(),
        has_full_text: incoming.item.whole || incoming.item.url.is_none(),
        enclosure_bytes: enclosure.as_ref().and_then(|enclosure| enclosure.bytes),
        enclosure_type: enclosure.as_ref().and_then(|enclosure| enclosure.media_type.clone()),
        enclosure_url: enclosure.map(|enclosure| enclosure.url),
        published_at,
        // A time in the future would keep the entry at the top of the list until then.
        sorted_at: published_at.map_or(now, |published| published.min(now)),
        read: false,
        starred: false,
        created_at: now,
    }
}

fn document_row(feed: &feed::Model, incoming: &IncomingEntry, now: Timestamp) -> document::Model {
    let title = incoming.item.title.clone();
    document::Model {
        feed_id: Some(feed.id),
        url: Some(incoming.url.clone()),
        author: incoming.item.author.clone(),
        description: incoming.item.summary.clone(),
        ..document::Model::pending(feed.user_id, ContentType::Article, title, now)
    }
}
