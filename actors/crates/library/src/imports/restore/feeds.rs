//! Restores feeds and their entries, including entries that the feed itself no longer lists.

use entity::{document, entry};
use jobs::{JobKind, Priority};
use parse::archive::{EntryRecord, FeedRecord};
use parse::feed::Outline;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, Select};
use values::id::{BookmarkId, EntryId, FeedId, UserId};
use values::kind::{ContentType, ImportedKind};
use values::time::Timestamp;
use web::PageUrl;

use super::super::archived_document;
use super::super::limits::MAX_NAME_CHARS;
use super::super::rows::result::RowResult;
use super::super::rows::trace::RowTrace;
use super::super::session::ImportSession;
use super::bookmarks::document_of;
use crate::documents::unindexed_since;
use crate::feeds;
use errors::Error;

/// Characters of the summary of an entry.
const MAX_SUMMARY_CHARS: usize = 10_000;
/// Bytes of the hashes of an entry (SHA-256).
const HASH_BYTES: usize = 32;

/// Follows a feed with the title, folder and setting for full texts that the export has.
pub async fn restore_feed(
    session: &mut ImportSession,
    txn: &impl ConnectionTrait,
    record: FeedRecord,
    now: Timestamp,
) -> Result<RowResult, Error> {
    // The URL need not be fetchable from here: the entries are restored from the export.
    let Ok(url) = PageUrl::parse(&record.url) else { return Ok(RowResult::unknown_record()) };
    let outline = Outline { url: record.url, title: record.title, folder: record.folder };
    let user = session.import().user_id;
    let (id, is_created) = feeds::follow_listed(txn, user, &url, &outline, record.full_text, now).await?;
    Ok(RowResult::of(ImportedKind::Feed, id.0, is_created))
}

/// Restores an entry of a followed feed. An existing one becomes read or starred if the record is.
pub async fn restore_entry(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    mut record: EntryRecord,
    now: Timestamp,
) -> Result<RowResult, Error> {
    // The URL is shown as a link, so it must be valid.
    let Ok(page) = PageUrl::parse(&record.url) else { return Ok(RowResult::unknown_record()) };
    let user = session.import().user_id;
    let Some(feed) = session.lock_imported_feed(txn, record.feed).await? else {
        return Ok(RowResult::missing_parent());
    };
    let Some((key_hash, content_hash)) = hashes(&record) else { return Ok(RowResult::unknown_record()) };
    if let Some(existing) = same_entry(user, feed, &key_hash).one(txn).await? {
        return mark_existing(session, txn, &existing, &record).await;
    }
    // Ids begin with a time. With that of the entry rather than of the import, lists that are ordered by id keep their order.
    let id = EntryId::new(record.sorted_at);
    let Some(document) = get_or_create_document(session, txn, &record, (id, feed), now).await? else {
        return Ok(RowResult::missing_parent());
    };
    let text = record.text.take();
    let enclosure_url = record.enclosure_url.filter(|url| PageUrl::parse(url).is_ok());
    // The page of a saved entry is fetched for its bookmark, and a URL that is that of the enclosure leads to no page.
    let has_own_page = record.bookmark.is_none() && enclosure_url.as_ref() != Some(&record.url);
    let row = entry::Model {
        id,
        user_id: user,
        feed_id: feed,
        document_id: document.id,
        key_hash,
        content_hash,
        normalized_url: page.key(),
        url: record.url,
        title: text::cut(&text::without_controls(&record.title), MAX_NAME_CHARS),
        author: record.author.map(|author| text::cut(&author, MAX_NAME_CHARS)),
        summary: record.summary.map(|words| text::cut(&words, MAX_SUMMARY_CHARS)),
        has_full_text: record.whole,
        enclosure_type: record.enclosure_type.filter(|_| enclosure_url.is_some()),
        enclosure_bytes: record.enclosure_bytes.filter(|bytes| *bytes >= 0 && enclosure_url.is_some()),
        enclosure_url,
        published_at: record.published_at,
        sorted_at: record.sorted_at,
        read: record.read,
        starred: record.starred,
        created_at: record.created_at.unwrap_or(now),
    };
    entry::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    if document.version == 0 {
        let has_text = match text {
            Some(text) => archived_document::restore_text(txn, &document, text, now).await?,
            None => false,
        };
        if !has_text && has_own_page {
            jobs::enqueue(txn, user, JobKind::FetchPage, document.id.0, Priority::Backlog, now).await?;
        }
    }
    // A new entry is an addition to its feed, read or not.
    let trace = entry_trace(session, txn, feed, (true, record.starred)).await?;
    Ok(RowResult::Created(ImportedKind::Entry, id.0, trace))
}

/// Marks an existing entry as read or starred if the record is.
async fn mark_existing(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    existing: &entry::Model,
    record: &EntryRecord,
) -> Result<RowResult, Error> {
    entry::Entity::update_owned(existing.user_id)
        .col_expr(entry::Column::Read, Expr::value(existing.read || record.read))
        .col_expr(entry::Column::Starred, Expr::value(existing.starred || record.starred))
        .filter(entry::Column::Id.eq(existing.id))
        .exec(txn)
        .await?;
    let is_read = record.read && !existing.read;
    let is_starred = record.starred && !existing.starred;
    let trace = entry_trace(session, txn, existing.feed_id, (is_read, is_starred)).await?;
    Ok(RowResult::Updated(ImportedKind::Entry, existing.id.0, trace))
}

/// Returns the trace of an entry: whether it changed a feed that existed before the import, or starred an entry of a feed that
/// the import created. The undo keeps a feed whose entry the user starred, but not one whose entry the import starred.
async fn entry_trace(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    feed: FeedId,
    (is_change, is_star): (bool, bool),
) -> Result<RowTrace, Error> {
    if !is_change && !is_star {
        return Ok(RowTrace::default());
    }
    let is_own = session.has_created(txn, ImportedKind::Feed, feed.0).await?;
    Ok(RowTrace { is_addition: !is_own, is_star: is_own && is_star, fingerprint: None })
}

/// Returns the document of an entry: that of its bookmark if the entry was saved, and otherwise a new one. `None` when
/// the bookmark was not imported.
async fn get_or_create_document(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    record: &EntryRecord,
    (id, feed): (EntryId, FeedId),
    now: Timestamp,
) -> Result<Option<document::Model>, Error> {
    let user = session.import().user_id;
    if let Some(source) = record.bookmark {
        let saved = session.find_imported_of_kind(txn, ImportedKind::Bookmark, source).await?.map(BookmarkId);
        let Some(saved) = saved else { return Ok(None) };
        let Some(document) = document_of(session, txn, saved).await? else { return Ok(None) };
        document::Entity::update_owned(user)
            .col_expr(document::Column::EntryId, Expr::value(Some(id)))
            .col_expr(document::Column::FeedId, Expr::value(Some(feed)))
            .col_expr(document::Column::UnindexedSince, unindexed_since(now))
            .filter(document::Column::Id.eq(document))
            // A document has one entry: if another entry shares it already, that one keeps it.
            .filter(document::Column::EntryId.is_null())
            .exec(txn)
            .await?;
        return Ok(document::Entity::one_visible_to(user, document).one(txn).await?);
    }
    let awaited = document::Model {
        entry_id: Some(id),
        feed_id: Some(feed),
        url: Some(record.url.clone()),
        created_at: record.created_at.unwrap_or(now),
        ..document::Model::pending(user, ContentType::Article, record.title.clone(), now)
    };
    let document = match &record.text {
        Some(text) => archived_document::with_metadata(awaited, text),
        None => awaited,
    };
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    Ok(Some(document))
}

/// Reads the hash by which the feed identifies an entry, and the hash of the content that the feed had last.
/// `None` when either is malformed.
pub fn hashes(record: &EntryRecord) -> Option<(Vec<u8>, Vec<u8>)> {
    decode_hash(&record.key).zip(decode_hash(&record.said))
}

/// Selects the entry that the feed identifies by this hash.
pub fn same_entry(user: UserId, feed: FeedId, key: &[u8]) -> Select<entry::Entity> {
    entry::Entity::owned_by(user)
        .filter(entry::Column::FeedId.eq(feed))
        .filter(entry::Column::KeyHash.eq(key.to_vec()))
}

/// Decodes a hash from its hexadecimal digits, which exports write in lower case.
fn decode_hash(hexadecimal: &str) -> Option<Vec<u8>> {
    base16ct::lower::decode_vec(hexadecimal).ok().filter(|hash| hash.len() == HASH_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_has_exactly_64_lower_case_digits() {
        assert_eq!(decode_hash(&"0af1".repeat(16)), Some([0x0a, 0xf1].repeat(16)));
        for malformed in ["0a".repeat(31), "0a".repeat(33), "0A".repeat(32), "+f".repeat(32), "é".repeat(32)]
        {
            assert_eq!(decode_hash(&malformed), None, "{malformed}");
        }
    }
}
