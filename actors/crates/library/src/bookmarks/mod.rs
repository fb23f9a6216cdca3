//! Bookmarks: saved pages and uploads.
//!
//! Lock order: collections before bookmarks, bookmarks in the order of their ids ([`lock`]). Two transactions that change the same
//! bookmarks then cannot deadlock.

mod bookmark_set;
mod bulk;
mod collections;
mod delete;
mod field_types;
mod filter;
mod new_bookmark;
mod page_url;
mod save;
mod tags;

use entity::{bookmark, document};
use sea_orm::sea_query::LockType;
use sea_orm::{
    ActiveValue::Set, ColumnTrait, ConnectionTrait, DatabaseBackend, IntoActiveModel, QueryFilter,
    QueryOrder, QuerySelect, Select,
};
use values::id::{BookmarkId, UserId};
use values::time::Timestamp;

use crate::BATCH_ROWS;
use errors::Error;
use jobs::{JobKind, Priority};

pub use bookmark_set::BookmarkSet;
pub use bulk::{SaveResult, save_new_pages};
pub use collections::{add_to_collection, lock_own_collections, replace_collections};
pub use delete::{delete, delete_all, restore};
pub use field_types::{BookmarkNotes, BookmarkTitle, CollectionIds, TagName, TagNames};
pub use filter::{BookmarkConditions, is_saved_after, is_saved_before, matching_flags};
pub use new_bookmark::{CreateBookmarkRequest, NewBookmark};
pub use page_url::{find_by_url, find_by_urls, require_fetchable, require_savable, require_url};
pub use save::{SavedPage, add_attributes, save, save_in_transaction};
pub use tags::{add_tags, normalize_tag, normalize_tags, replace_tags, tags_of_bookmarks};

pub(crate) use collections::skip_existing_membership;
pub(crate) use tags::skip_existing_tag;

/// Locks the selected bookmarks until the transaction ends and returns their ids. A transaction that writes what belongs to
/// bookmarks, such as tags, needs this lock.
pub async fn lock(
    txn: &impl ConnectionTrait,
    selection: Select<bookmark::Entity>,
) -> Result<Vec<BookmarkId>, Error> {
    let mut ids = selection.select_only().column(bookmark::Column::Id);
    if txn.get_database_backend() == DatabaseBackend::Postgres {
        // In one order, so that two transactions cannot wait for each other. SQLite has one writer, and would read all bookmarks of the
        // user to return a few in this order.
        ids = ids.order_by_asc(bookmark::Column::Id);
    }
    // NO KEY UPDATE: rows that refer to the bookmark may be inserted meanwhile, because their foreign keys only lock its key.
    Ok(ids.lock(LockType::NoKeyUpdate).into_tuple().all(txn).await?)
}

/// Records that a bookmark changed now, and returns it with that time.
pub async fn touch(
    txn: &impl ConnectionTrait,
    row: bookmark::Model,
    now: Timestamp,
) -> Result<bookmark::Model, Error> {
    bookmark::Entity::touch(txn, row.user_id, [row.id], now).await?;
    Ok(bookmark::Model { updated_at: now, ..row })
}

/// Records that bookmarks changed now; the transaction has locked them.
pub async fn touch_many(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[BookmarkId],
    now: Timestamp,
) -> Result<(), Error> {
    for batch in ids.chunks(BATCH_ROWS) {
        bookmark::Entity::touch(txn, user, batch.iter().copied(), now).await?;
    }
    Ok(())
}

/// Sets the title of a bookmark's documents, its note included. Search finds passages by the title too, so the documents that have
/// a text are indexed again.
pub async fn retitle(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    title: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let own = document::Entity::with_hidden(row.user_id).filter(document::Column::BookmarkId.eq(row.id));
    for document in own.lock_exclusive().all(txn).await? {
        let (id, has_text) = (document.id, document.version > 0);
        let unindexed_since = document.next_unindexed_since(now);
        let mut changed = document.into_active_model();
        changed.title = Set(title.to_owned());
        // From now on a title that is extracted from the page does not replace it.
        changed.has_user_title = Set(true);
        changed.unindexed_since = Set(Some(unindexed_since));
        document::Entity::update_owned_row(txn, row.user_id, changed).await?;
        if has_text {
            jobs::enqueue(txn, row.user_id, JobKind::Index, id.0, Priority::Now, now).await?;
        }
    }
    Ok(())
}
