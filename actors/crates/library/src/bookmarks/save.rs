//! Saves one page: the bookmark, its document, everything that comes with it, and the job for its text in one transaction. A save
//! that was acknowledged is stored and will become text. Short plain text that comes with it is stored as passages, which only have to be
//! indexed then.

use std::time::Duration;

use database::insert_all;
use entity::{bookmark, chunk, document, entry};
use sea_orm::sea_query::{Expr, OnConflict, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect, QueryTrait,
};
use values::id::{BookmarkId, UserId};
use values::kind::{BookmarkKind, ContentType};
use values::time::Timestamp;
use web::PageUrl;

use super::collections::{add_to_collection, lock_own_collections};
use super::new_bookmark::NewBookmark;
use super::page_url::find_by_url;
use super::tags::{add_tags, insert_tags};
use super::{lock, touch};
use crate::RACE_RETRY_AFTER;
use crate::context::CoreContext;
use crate::documents::{PageContent, store_supplied_content};
use crate::feeds::saved;
use crate::library_quota::LibraryRoom;
use crate::notes;
use crate::owned_transaction::{RequestOwner, begin_request_in_group};
use errors::Error;
use jobs::{JobKind, Priority, RecentCounts};

/// A page that was saved.
#[derive(Debug)]
pub struct SavedPage {
    /// The bookmark.
    pub row: bookmark::Model,
    /// Whether it is new. If not, the URL was saved before and only tags were added.
    pub is_created: bool,
    /// The new document of a new bookmark, as it was inserted; `None` if the document existed before.
    pub document: Option<document::Model>,
}

impl SavedPage {
    fn existing(row: bookmark::Model) -> Self {
        Self { row, is_created: false, document: None }
    }

    fn of_entry(row: bookmark::Model) -> Self {
        Self { row, is_created: true, document: None }
    }
}

/// When a client tries again while too many pages of the user wait to be fetched.
const BACKLOG_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Saves a page for a request. A URL that is saved already only gets the tags.
///
/// # Errors
/// [`Error::LibraryFull`] when the new texts exceed the size of the owner's library; otherwise as
/// [`save_in_transaction`]. Nothing is saved then.
pub async fn save(
    core: &CoreContext,
    owner: &RequestOwner,
    mut new: NewBookmark,
    priority: Priority,
) -> Result<SavedPage, Error> {
    if let Some(content) = new.content.take() {
        // Split before the transaction begins, which on SQLite blocks every other writer.
        new.content = Some(content.split_if_short(core).await?);
    }
    let txn = begin_request_in_group(&core.db, owner).await?;
    let room = LibraryRoom::of_request(&txn, core, owner).await?;
    if !room.fits(new.text_bytes()) {
        // Checked before megabytes are written and rolled back. Of a page that exists only the tags are new.
        lock_own_collections(&txn, owner.user, &new.collections).await?;
        let key = PageUrl::parse(&new.url)?.key();
        if find_by_url(&txn, owner.user, &key).await?.is_none() {
            room.must_fit(new.text_bytes())?;
        }
    }
    let (waiting, now) = (Some(&core.waiting_jobs), core.clock.now());
    let saved = save_in_transaction(&txn, owner.user, new, priority, waiting, now).await?;
    room.must_hold(&txn).await?;
    txn.commit().await?;
    Ok(saved)
}

/// Saves a page in the caller's transaction. A URL that is saved already only gets the tags. `waiting` says whether the user may enqueue
/// the job for a new page; `None` for imports, which check the user's backlog themselves.
///
/// # Errors
/// [`Error::UrlRejected`] when the URL is not valid; [`Error::NotFound`] when a collection does not exist or belongs to another
/// user; [`Error::Busy`] when too many pages of the user wait to be fetched, and when the bookmark appeared and
/// vanished at this moment.
pub async fn save_in_transaction(
    txn: &impl ConnectionTrait,
    user: UserId,
    mut new: NewBookmark,
    priority: Priority,
    waiting: Option<&RecentCounts>,
    now: Timestamp,
) -> Result<SavedPage, Error> {
    // Lock order: collections before bookmarks.
    lock_own_collections(txn, user, &new.collections).await?;
    let (row, document) = new_rows(user, &PageUrl::parse(&new.url)?, &new, now);
    let url = UrlState::read(txn, user, &row.normalized_url, waiting).await?;
    if url.is_saved
        && let Some(existing) = lock_by_url(txn, user, &row.normalized_url).await?
    {
        let is_changed = add_tags(txn, &existing, &new.tags, now).await?;
        return Ok(SavedPage::existing(if is_changed { touch(txn, existing, now).await? } else { existing }));
    }
    if !url.has_room {
        return Err(Error::Busy(BACKLOG_RETRY_AFTER));
    }
    // A page that the user reads as an entry of a feed keeps its one document (contract.md, section 11: v1).
    if url.is_entry
        && let Some((entry, document)) = saved::find_unsaved_entry(txn, user, &row.normalized_url).await?
    {
        return save_entry(txn, row, &entry, document, new, priority, now).await;
    }
    let (kind, (document, passages)) = match new.content.take() {
        Some(PageContent::Split(text)) => (JobKind::Index, text.into_rows(document, now)),
        content => {
            new.content = content;
            (text_job(&new), (document, Vec::new()))
        }
    };
    // The document before the bookmark, which refers to it by a foreign key.
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    if !insert_if_unsaved(txn, row.clone()).await? {
        // Another process saved the URL after it was looked up. On PostgreSQL a violated unique index would end the transaction, so
        // the insert skips the row instead.
        document::Entity::delete_owned_row(txn, user, document).await?;
        return add_tags_to_existing(txn, &row, &new.tags, now).await;
    }
    insert_all::<chunk::Entity>(txn, passages, None).await?;
    add_attributes(txn, &row, &document, new, priority, now).await?;
    // In the same transaction, so that no saved page is left without the job that makes its text.
    jobs::enqueue(txn, row.user_id, kind, document.id.0, priority, now).await?;
    Ok(SavedPage { row, is_created: true, document: Some(document) })
}

/// What is known of a URL before it is saved.
struct UrlState {
    /// Whether the user has a bookmark of it.
    is_saved: bool,
    /// Whether an entry of a feed of the user has it.
    is_entry: bool,
    /// Whether the user may enqueue the job for its text.
    has_room: bool,
}

impl UrlState {
    /// Reads it with one query, because most URLs are new and need none of the queries that follow otherwise.
    async fn read(
        txn: &impl ConnectionTrait,
        user: UserId,
        normalized: &str,
        waiting: Option<&RecentCounts>,
    ) -> Result<Self, Error> {
        let bookmarks =
            bookmark::Entity::visible_to(user).filter(bookmark::Column::NormalizedUrl.eq(normalized));
        let entries = entry::Entity::owned_by(user).filter(entry::Column::NormalizedUrl.eq(normalized));
        let mut query = Query::select();
        query
            .expr_as(
                Expr::exists(bookmarks.select_only().column(bookmark::Column::Id).into_query()),
                "is_saved",
            )
            .expr_as(Expr::exists(entries.select_only().column(entry::Column::Id).into_query()), "is_entry");
        let uncounted = waiting.filter(|counts| !counts.try_take(user));
        if uncounted.is_some() {
            query.expr_as(jobs::count_waiting(user), "waiting");
        }
        let row =
            txn.query_one(&query).await?.ok_or(Error::internal("a query without a table found no row"))?;
        let has_room = match uncounted {
            Some(counts) => {
                counts.record(user, u64::try_from(row.try_get::<i64>("", "waiting")?).unwrap_or(0))
            }
            None => true,
        };
        Ok(Self { is_saved: row.try_get("", "is_saved")?, is_entry: row.try_get("", "is_entry")?, has_room })
    }
}

/// Returns the bookmark with this URL, locked; `None` if it was deleted before it could be locked.
async fn lock_by_url(
    txn: &impl ConnectionTrait,
    user: UserId,
    normalized: &str,
) -> Result<Option<bookmark::Model>, Error> {
    let Some(existing) = find_by_url(txn, user, normalized).await? else { return Ok(None) };
    let locked = lock(txn, bookmark::Entity::one_visible_to(user, existing.id)).await?;
    // The lock finds nothing when the bookmark was deleted between the two queries. The URL then becomes a new bookmark.
    Ok((!locked.is_empty()).then_some(existing))
}

/// Adds the tags of a save to the bookmark that a concurrent transaction made of the same URL.
async fn add_tags_to_existing(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    tags: &[String],
    now: Timestamp,
) -> Result<SavedPage, Error> {
    let existing =
        find_by_url(txn, row.user_id, &row.normalized_url).await?.ok_or(Error::Busy(RACE_RETRY_AFTER))?;
    add_tags(txn, &existing, tags, now).await?;
    Ok(SavedPage::existing(existing))
}

/// Saves the page of a feed entry: the bookmark shares the entry's document. If the feed gave the whole text,
/// the page is not fetched.
async fn save_entry(
    txn: &impl ConnectionTrait,
    row: bookmark::Model,
    entry: &entry::Model,
    document: document::Model,
    new: NewBookmark,
    priority: Priority,
    now: Timestamp,
) -> Result<SavedPage, Error> {
    let (content_type, title) = (document.content_type, document.title.clone());
    let row = bookmark::Model { document_id: document.id, content_type, title, ..row };
    if !insert_if_unsaved(txn, row.clone()).await? {
        return add_tags_to_existing(txn, &row, &new.tags, now).await;
    }
    saved::set_bookmark(txn, &document, row.id, now).await?;
    // On PostgreSQL a transcript may have been stored since the first read, and no page may replace it. The update above locks the
    // document, so a transcript that is stored from here on cancels the job that is queued below.
    let (entry, document) = saved::reload_entry(txn, entry, document).await?;
    if let Some(title) = &new.title {
        document::Entity::update_owned(row.user_id)
            .col_expr(document::Column::Title, Expr::value(title))
            .col_expr(document::Column::HasUserTitle, Expr::value(true))
            .filter(document::Column::Id.eq(document.id))
            .exec(txn)
            .await?;
    }
    let has_content = new.content.is_some();
    if has_content {
        // Supplied content is the whole text.
        entry::Entity::update_owned(row.user_id)
            .col_expr(entry::Column::HasFullText, Expr::value(true))
            .filter(entry::Column::Id.eq(entry.id))
            .exec(txn)
            .await?;
    }
    let needs_reindex = new.title.is_some() && document.version > 0;
    let kind = text_job(&new);
    add_attributes(txn, &row, &document, new, priority, now).await?;
    if has_content || !entry.has_full_text {
        jobs::enqueue(txn, row.user_id, kind, document.id.0, priority, now).await?;
    } else if needs_reindex {
        jobs::enqueue(txn, row.user_id, JobKind::Index, document.id.0, priority, now).await?;
    }
    Ok(SavedPage::of_entry(row))
}

/// Stores the tags, collections, notes and content of a bookmark that was inserted just now. The index lacks its document anyway.
pub async fn add_attributes(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    document: &document::Model,
    new: NewBookmark,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    insert_tags(txn, row, &new.tags).await?;
    for collection in new.collections {
        add_to_collection(txn, row, collection, now).await?;
    }
    if let Some(body) = new.notes {
        notes::write_on_bookmark(txn, row, &body, priority, now).await?;
    }
    if let Some(content) = new.content {
        store_supplied_content(txn, row.user_id, [(document.id, content.into_supplied())]).await?;
    }
    Ok(())
}

/// Returns the rows of a new page.
pub(super) fn new_rows(
    user: UserId,
    url: &PageUrl,
    new: &NewBookmark,
    now: Timestamp,
) -> (bookmark::Model, document::Model) {
    let (id, title) = (BookmarkId::new(now), new.title.clone());
    let document = document::Model {
        url: Some(url.as_str().to_owned()),
        has_user_title: title.is_some(),
        bookmark_id: Some(id),
        ..document::Model::pending(
            user,
            ContentType::Article,
            title.unwrap_or_else(|| url.as_str().to_owned()),
            now,
        )
    };
    let row = bookmark::Model {
        id,
        user_id: user,
        document_id: document.id,
        kind: BookmarkKind::Page,
        content_type: document.content_type,
        url: url.as_str().to_owned(),
        normalized_url: url.key(),
        title: document.title.clone(),
        favorite: new.favorite,
        archived: new.archived,
        progress: new.progress,
        saved_at: new.saved_at.unwrap_or(now),
        created_at: now,
        updated_at: now,
        deleted_at: None,
    };
    (row, document)
}

/// Returns the kind of job that makes the text of a page from its content, as it was supplied, or from its URL.
pub(super) fn text_job(new: &NewBookmark) -> JobKind {
    if new.content.is_some() { JobKind::ProcessText } else { JobKind::FetchPage }
}

/// Inserts a bookmark unless its URL is saved. Returns whether it was inserted.
async fn insert_if_unsaved(txn: &impl ConnectionTrait, row: bookmark::Model) -> Result<bool, Error> {
    Ok(insert_all::<bookmark::Entity>(txn, [row], Some(&skip_saved_url())).await? == 1)
}

/// Inserts a bookmark only if no bookmark that is not deleted has its URL.
pub(super) fn skip_saved_url() -> OnConflict {
    OnConflict::columns([bookmark::Column::UserId, bookmark::Column::NormalizedUrl])
        // Spelled as in the partial index `bookmark_normalized_url`, so that both databases infer that index.
        .target_and_where(Expr::cust("deleted_at IS NULL"))
        .do_nothing()
        .to_owned()
}
