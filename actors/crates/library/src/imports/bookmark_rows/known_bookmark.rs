//! Bookmarks that exist, with the attributes to which the rows of a file may add.

use database::padded;
use std::collections::{HashMap, HashSet};

use entity::{bookmark, bookmark_tag, collection_bookmark, note};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::{BookmarkId, CollectionId, UserId};

use crate::BATCH_ROWS;
use errors::Error;

/// A bookmark with its tags, collections and notes.
pub struct KnownBookmark {
    /// The row of the bookmark.
    pub row: bookmark::Model,
    /// The names of its tags.
    pub tags: HashSet<String>,
    /// The collections that it is in.
    pub collections: HashSet<CollectionId>,
    /// Its notes; empty if it has none.
    pub notes: String,
}

impl KnownBookmark {
    fn without_attributes(row: bookmark::Model) -> Self {
        Self { row, tags: HashSet::new(), collections: HashSet::new(), notes: String::new() }
    }

    /// Loads the attributes of a bookmark.
    pub async fn load(txn: &impl ConnectionTrait, row: bookmark::Model) -> Result<Self, Error> {
        let user = row.user_id;
        let mut known = [Self::without_attributes(row)];
        load_attributes(txn, user, &mut known).await?;
        let [known] = known;
        Ok(known)
    }
}

/// Loads the user's bookmarks with these normalised URLs, by their URLs.
pub async fn load_by_urls(
    txn: &impl ConnectionTrait,
    user: UserId,
    urls: &[String],
) -> Result<HashMap<String, KnownBookmark>, Error> {
    let mut by_url = HashMap::new();
    for urls in urls.chunks(BATCH_ROWS) {
        let rows = bookmark::Entity::visible_to(user)
            .filter(bookmark::Column::NormalizedUrl.is_in(padded(urls)))
            .all(txn)
            .await?;
        let mut known: Vec<_> = rows.into_iter().map(KnownBookmark::without_attributes).collect();
        load_attributes(txn, user, &mut known).await?;
        by_url.extend(known.into_iter().map(|known| (known.row.normalized_url.clone(), known)));
    }
    Ok(by_url)
}

/// Adds their attributes to bookmarks of a user, of which there are at most [`BATCH_ROWS`].
async fn load_attributes(
    txn: &impl ConnectionTrait,
    user: UserId,
    known: &mut [KnownBookmark],
) -> Result<(), Error> {
    if known.is_empty() {
        return Ok(());
    }
    let ids: Vec<BookmarkId> = known.iter().map(|known| known.row.id).collect();
    let mut by_id: HashMap<BookmarkId, &mut KnownBookmark> =
        known.iter_mut().map(|known| (known.row.id, known)).collect();
    /// Selects a column of the rows of a table that belong to these bookmarks, besides the id of the bookmark.
    macro_rules! column_of {
        ($entity:ident, $column:ident) => {
            $entity::Entity::owned_by(user)
                .filter($entity::Column::BookmarkId.is_in(padded(&ids)))
                .select_only()
                .column($entity::Column::BookmarkId)
                .column($entity::Column::$column)
        };
    }
    let tags: Vec<(BookmarkId, String)> = column_of!(bookmark_tag, Name).into_tuple().all(txn).await?;
    for (id, name) in tags {
        if let Some(known) = by_id.get_mut(&id) {
            known.tags.insert(name);
        }
    }
    let filed: Vec<(BookmarkId, CollectionId)> =
        column_of!(collection_bookmark, CollectionId).into_tuple().all(txn).await?;
    for (id, collection) in filed {
        if let Some(known) = by_id.get_mut(&id) {
            known.collections.insert(collection);
        }
    }
    let notes: Vec<(BookmarkId, String)> = column_of!(note, Body).into_tuple().all(txn).await?;
    for (id, body) in notes {
        if let Some(known) = by_id.get_mut(&id) {
            known.notes = body;
        }
    }
    Ok(())
}
