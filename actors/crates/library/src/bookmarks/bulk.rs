//! Saves many new pages with a few statements, as imports need it.

use std::collections::HashSet;

use database::{insert_all, padded};
use entity::{bookmark, bookmark_tag, collection_bookmark, document, entry};
use sea_orm::sea_query::LockType;
use sea_orm::{ColumnTrait, ConnectionTrait, DatabaseBackend, QueryFilter, QueryOrder, QuerySelect, Select};
use values::id::{BookmarkId, DocumentId, UserId};
use values::time::Timestamp;
use web::PageUrl;

use super::collections::skip_existing_membership;
use super::new_bookmark::NewBookmark;
use super::save::{new_rows, skip_saved_url, text_job};
use super::tags::skip_existing_tag;
use crate::BATCH_ROWS;
use crate::documents::{PageContent, store_supplied_content};
use crate::notes::{self, NewBookmarkNote};
use errors::Error;
use jobs::{JobKind, Priority};

#[cfg(test)]
mod tests;

/// The result of a bulk save for one page.
#[derive(Debug)]
pub enum SaveResult {
    /// The page is a new bookmark.
    Created(BookmarkId),
    /// Nothing was stored: the URL is saved already, belongs to a feed entry, or occurred before in the batch. The page has to
    /// be saved individually, by [`super::save_in_transaction`].
    Deferred {
        /// The page, as it was handed over.
        page: Box<NewBookmark>,
        /// Its normalised URL ([`PageUrl::key`]).
        normalized_url: String,
    },
}

/// A page of the batch with its new rows.
struct PendingRow {
    /// Index of the page in the batch.
    index: usize,
    new: NewBookmark,
    row: bookmark::Model,
    document: document::Model,
}

/// Saves the new pages of a batch in the caller's transaction, which has locked their collections. Returns the results in
/// the order of the pages. The bookmarks that exist already are locked, in the order in which every transaction does, if there are at
/// most [`BATCH_ROWS`] pages; their pages are deferred.
///
/// # Errors
/// [`Error::UrlRejected`] when a URL is not an absolute http or https URL.
pub async fn save_new_pages(
    txn: &impl ConnectionTrait,
    user: UserId,
    pages: Vec<NewBookmark>,
    priority: Priority,
    now: Timestamp,
) -> Result<Vec<SaveResult>, Error> {
    let mut urls = Vec::with_capacity(pages.len());
    for page in &pages {
        urls.push(PageUrl::parse(&page.url)?);
    }
    let mut existing = existing_urls(txn, user, urls.iter().map(PageUrl::key)).await?;
    let (mut results, mut pending) = (Vec::with_capacity(pages.len()), Vec::new());
    for (index, (new, url)) in pages.into_iter().zip(&urls).enumerate() {
        if existing.insert(url.key()) {
            let (row, document) = new_rows(user, url, &new, now);
            results.push(SaveResult::Created(row.id));
            pending.push(PendingRow { index, new, row, document });
        } else {
            results.push(SaveResult::Deferred { page: Box::new(new), normalized_url: url.key() });
        }
    }
    // Sorted, so that two transactions that save the same pages wait for the unique index in one order and do not deadlock.
    pending.sort_by(|a: &PendingRow, b| a.row.normalized_url.cmp(&b.row.normalized_url));
    insert_all::<document::Entity>(txn, pending.iter().map(|page| page.document.clone()), None).await?;
    let rows = pending.iter().map(|page| page.row.clone());
    let inserted = insert_all::<bookmark::Entity>(txn, rows, Some(&skip_saved_url())).await?;
    // Fewer only on PostgreSQL, where another transaction may save a URL after the look-up. SQLite has one writer.
    if inserted < pending.len() as u64 {
        for PendingRow { index, new, row, .. } in remove_conflicting(txn, user, &mut pending).await? {
            if let Some(result) = results.get_mut(index) {
                *result = SaveResult::Deferred { page: Box::new(new), normalized_url: row.normalized_url };
            }
        }
    }
    add_attributes(txn, user, pending, priority, now).await?;
    Ok(results)
}

/// Returns which of these normalised URLs belong to a bookmark, which is locked then, or to a feed entry.
async fn existing_urls(
    txn: &impl ConnectionTrait,
    user: UserId,
    urls: impl Iterator<Item = String>,
) -> Result<HashSet<String>, Error> {
    let (mut existing, urls) = (HashSet::new(), urls.collect::<Vec<_>>());
    for batch in urls.chunks(BATCH_ROWS) {
        let mut bookmarks = saved_urls(user, batch);
        // As in `super::lock`. SQLite has no locks of rows, and for this order it would read all bookmarks of the user.
        if txn.get_database_backend() == DatabaseBackend::Postgres {
            bookmarks = bookmarks.order_by_asc(bookmark::Column::Id).lock(LockType::NoKeyUpdate);
        }
        existing.extend(bookmarks.into_tuple::<String>().all(txn).await?);
        let entries = entry::Entity::owned_by(user)
            .filter(entry::Column::NormalizedUrl.is_in(padded(batch)))
            .select_only()
            .column(entry::Column::NormalizedUrl);
        existing.extend(entries.into_tuple::<String>().all(txn).await?);
    }
    Ok(existing)
}

/// Selects those of these normalised URLs that belong to a bookmark.
fn saved_urls(user: UserId, urls: &[String]) -> Select<bookmark::Entity> {
    bookmark::Entity::visible_to(user)
        .filter(bookmark::Column::NormalizedUrl.is_in(padded(urls)))
        .select_only()
        .column(bookmark::Column::NormalizedUrl)
}

/// Removes and returns the pages that another process saved after they were looked up.
async fn remove_conflicting(
    txn: &impl ConnectionTrait,
    user: UserId,
    pending: &mut Vec<PendingRow>,
) -> Result<Vec<PendingRow>, Error> {
    let ids: Vec<BookmarkId> = pending.iter().map(|page| page.row.id).collect();
    let inserted = bookmark::Entity::visible_to(user)
        .filter(bookmark::Column::Id.is_in(padded(&ids)))
        .select_only()
        .column(bookmark::Column::Id);
    let inserted: HashSet<BookmarkId> = inserted.into_tuple().all(txn).await?.into_iter().collect();
    let conflicting: Vec<PendingRow> =
        pending.extract_if(.., |page| !inserted.contains(&page.row.id)).collect();
    let documents: Vec<DocumentId> = conflicting.iter().map(|page| page.document.id).collect();
    document::Entity::delete_owned(user)
        .filter(document::Column::Id.is_in(padded(&documents)))
        .exec(txn)
        .await?;
    Ok(conflicting)
}

/// Stores the tags, collections, notes and contents of new bookmarks, and enqueues the jobs for their texts.
async fn add_attributes(
    txn: &impl ConnectionTrait,
    user: UserId,
    mut pending: Vec<PendingRow>,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let tags = pending
        .iter()
        .flat_map(|page| page.new.tags.iter().map(|name| bookmark_tag::Model::new(&page.row, name.clone())));
    insert_all::<bookmark_tag::Entity>(txn, tags, Some(&skip_existing_tag())).await?;
    let memberships = pending.iter().flat_map(|page| {
        let row = |collection: &_| collection_bookmark::Model::new(&page.row, *collection, now);
        page.new.collections.iter().map(row)
    });
    insert_all::<collection_bookmark::Entity>(txn, memberships, Some(&skip_existing_membership())).await?;
    let mut notes = Vec::new();
    for page in &mut pending {
        if let Some(body) = page.new.notes.take() {
            let title = page.document.title.clone();
            notes.push(NewBookmarkNote { bookmark: page.row.id, title, body });
        }
    }
    notes::insert_on_new_bookmarks(txn, user, notes, priority, now).await?;
    for kind in [JobKind::FetchPage, JobKind::ProcessText] {
        let of_kind = pending.iter().filter(|page| text_job(&page.new) == kind);
        jobs::enqueue_all(txn, user, kind, of_kind.map(|page| page.document.id.0), priority, now).await?;
    }
    let contents = pending
        .into_iter()
        .filter_map(|page| Some((page.document.id, page.new.content.map(PageContent::into_supplied)?)));
    store_supplied_content(txn, user, contents).await
}
