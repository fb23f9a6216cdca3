//! Entries of feeds: those that the feed itself has long forgotten too.

use entity::id::{BookmarkId, EntryId, FeedId, UserId};
use entity::kind::{ContentType, ImportedKind};
use entity::time::Timestamp;
use entity::{document, entry};
use parse::archive::EntryRecord;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, Select};
use web::PageUrl;

use super::super::row_trace::RowTrace;
use super::super::take::{Became, Taking};
use super::bookmarks::document_of;
use super::{NAME, UNKNOWN, lost, texts};
use errors::Error;
use jobs::{Priority, JobKind};

/// Characters of a summary.
const SUMMARY: usize = 10_000;

/// An entry of a followed feed.
pub async fn entry(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    mut given: EntryRecord,
    now: Timestamp,
) -> Result<Became, Error> {
    // Its address is shown as a link.
    let Ok(page) = PageUrl::parse(&given.url) else { return Ok(Became::Passed(UNKNOWN.to_owned())) };
    let user = taking.import().user_id;
    let Some(feed) = taking.feed_of(txn, given.feed).await? else { return Ok(lost()) };
    let Some((key, said)) = sums(&given) else { return Ok(Became::Passed(UNKNOWN.to_owned())) };
    if let Some(there) = same_entry(user, feed, &key).one(txn).await? {
        entry::Entity::update_many()
            .col_expr(entry::Column::Read, Expr::value(there.read || given.read))
            .col_expr(entry::Column::Starred, Expr::value(there.starred || given.starred))
            .filter(entry::Column::UserId.eq(user))
            .filter(entry::Column::Id.eq(there.id))
            .exec(txn)
            .await?;
        let is_read = given.read && !there.read;
        let trace = entry_trace(taking, txn, feed, (is_read, given.starred && !there.starred)).await?;
        return Ok(Became::Updated(ImportedKind::Entry, there.id.0, trace));
    }
    let id = EntryId::new(given.sorted_at);
    let Some(document) = document(taking, txn, &given, (id, feed), now).await? else { return Ok(lost()) };
    let words = given.text.take();
    let enclosure_url = given.enclosure_url.filter(|url| PageUrl::parse(url).is_ok());
    let own = given.bookmark.is_none() && enclosure_url.as_ref() != Some(&given.url);
    let row = entry::Model {
        id,
        user_id: user,
        feed_id: feed,
        document_id: document.id,
        key_hash: key,
        content_hash: said,
        normalized_url: page.key(),
        url: given.url,
        title: text::cut(&given.title, NAME),
        author: given.author.map(|author| text::cut(&author, NAME)),
        summary: given.summary.map(|words| text::cut(&words, SUMMARY)),
        whole: given.whole,
        enclosure_type: given.enclosure_type.filter(|_| enclosure_url.is_some()),
        enclosure_bytes: given.enclosure_bytes.filter(|bytes| *bytes >= 0 && enclosure_url.is_some()),
        enclosure_url,
        published_at: given.published_at,
        sorted_at: given.sorted_at,
        read: given.read,
        starred: given.starred,
        created_at: given.created_at.unwrap_or(now),
    };
    entry::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    if document.version == 0 {
        let has_text = match words {
            Some(words) => texts::put(txn, &document, words, now).await?,
            None => false,
        };
        if !has_text && own {
            jobs::enqueue(txn, user, JobKind::Page, document.id.0, Priority::Backlog, now).await?;
        }
    }
    // A new entry is an addition to its feed, read or not.
    let trace = entry_trace(taking, txn, feed, (true, given.starred)).await?;
    Ok(Became::Created(ImportedKind::Entry, id.0, trace))
}

/// What the row of an entry keeps: whether it changed a feed that existed before the import, or starred an entry of the import's own
/// feed, which a star of the user's would keep.
async fn entry_trace(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    feed: FeedId,
    (is_change, is_star): (bool, bool),
) -> Result<RowTrace, Error> {
    if !is_change && !is_star {
        return Ok(RowTrace::default());
    }
    let is_own = taking.has_created(txn, ImportedKind::Feed, feed.0).await?;
    Ok(RowTrace { is_addition: !is_own, is_star: is_own && is_star, fingerprint: None })
}

/// The entry's document: the bookmark's, where it was saved, and else one of its own.
async fn document(
    taking: &Taking,
    txn: &impl ConnectionTrait,
    given: &EntryRecord,
    (id, feed): (EntryId, FeedId),
    now: Timestamp,
) -> Result<Option<document::Model>, Error> {
    let user = taking.import().user_id;
    if let Some(old) = given.bookmark {
        let saved = taking.became_a(txn, ImportedKind::Bookmark, old).await?.map(BookmarkId);
        let Some(saved) = saved else { return Ok(None) };
        let Some(document) = document_of(taking, txn, saved).await? else { return Ok(None) };
        document::Entity::update_many()
            .col_expr(document::Column::EntryId, Expr::value(Some(id)))
            .col_expr(document::Column::FeedId, Expr::value(Some(feed)))
            .filter(document::Column::UserId.eq(user))
            .filter(document::Column::Id.eq(document))
            .filter(document::Column::EntryId.is_null())
            .exec(txn)
            .await?;
        jobs::enqueue(txn, user, JobKind::UpdateLabels, document.0, Priority::Backlog, now).await?;
        return Ok(document::Entity::one_of(user, document).one(txn).await?);
    }
    let awaited = document::Model {
        entry_id: Some(id),
        feed_id: Some(feed),
        url: Some(given.url.clone()),
        created_at: given.created_at.unwrap_or(now),
        ..document::Model::pending(user, ContentType::Article, given.title.clone(), now)
    };
    let document = match &given.text {
        Some(text) => texts::told(awaited, text),
        None => awaited,
    };
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    Ok(Some(document))
}

/// By what the feed tells it, and what it said last; none where the line is not to be had.
pub(super) fn sums(given: &EntryRecord) -> Option<(Vec<u8>, Vec<u8>)> {
    sum(&given.key).zip(sum(&given.said))
}

/// The entry that the feed tells by the same.
pub(super) fn same_entry(user: UserId, feed: FeedId, key: &[u8]) -> Select<entry::Entity> {
    entry::Entity::owned_by(user)
        .filter(entry::Column::FeedId.eq(feed))
        .filter(entry::Column::KeyHash.eq(key.to_vec()))
}

/// 32 bytes of their hexadecimal digits.
fn sum(hex: &str) -> Option<Vec<u8>> {
    actors::auth::secret::SecretHash::from_hex(hex).map(|hash| hash.bytes().to_vec())
}
