//! What an import adds to a bookmark that was there: tags and collections, and marks, progress and notes where it had none.
//! What was new is written down, so that it can be taken back, and what was there, so that it stays where others go.

use std::collections::HashSet;

use entity::id::{BookmarkId, CollectionId, EntryId, UserId};
use entity::kind::ImportedKind;
use entity::time::Timestamp;
use entity::{bookmark, bookmark_tag, collection_bookmark, entry, note};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};

use super::paragraphs;
use super::said::{Added, Said};
use super::take::Became;
use crate::error::Error;
use crate::ingest::queue::Priority;
use crate::ops::bookmarks::relabel;
use crate::ops::bookmarks::save::{self, NewBookmark};
use crate::ops::notes;

/// Characters of the notes on a bookmark.
const LONGEST_NOTES: usize = 100_000;

/// What is on a bookmark that is made of a page.
pub fn on(new: &NewBookmark) -> Box<Added> {
    Added::with(Said {
        tags: new.tags.clone(),
        collections: new.collections.clone(),
        favorite: new.favorite,
        archived: new.archived,
        progress: Some(new.progress).filter(|progress| *progress > 0.0),
        written: new.notes.iter().filter(|notes| !notes.is_empty()).cloned().collect(),
        ..Said::default()
    })
}

/// Adds to a bookmark what it lacks of a page.
///
/// # Errors
/// The database.
pub async fn to(
    txn: &impl ConnectionTrait,
    row: bookmark::Model,
    new: &NewBookmark,
    now: Timestamp,
) -> Result<Became, Error> {
    let user = row.user_id;
    save::lock(txn, bookmark::Entity::one_of(user, row.id)).await?;
    // Read again: somebody may have marked it until it was held.
    let Some(row) = bookmark::Entity::one_of(user, row.id).one(txn).await? else {
        return Ok(Became::Passed("was deleted during the import".to_owned()));
    };
    let had = bookmark_tag::Entity::owned_by(user).filter(bookmark_tag::Column::BookmarkId.eq(row.id));
    let had: HashSet<String> = had.all(txn).await?.into_iter().map(|tag| tag.name).collect();
    let was_in = collection_bookmark::Entity::owned_by(user)
        .filter(collection_bookmark::Column::BookmarkId.eq(row.id))
        .all(txn)
        .await?;
    let was_in: HashSet<CollectionId> = was_in.into_iter().map(|place| place.collection_id).collect();
    let (known_tags, tags) = new.tags.iter().cloned().partition(|tag| had.contains(tag));
    let (known_places, collections) = new.collections.iter().copied().partition(|id| was_in.contains(id));
    let progress = Some(new.progress).filter(|progress| *progress > 0.0);
    let (known_notes, notes) = add_notes(txn, &row, new.notes.as_deref().unwrap_or_default(), now).await?;
    let known = Said {
        tags: known_tags,
        collections: known_places,
        favorite: new.favorite && row.favorite,
        archived: new.archived && row.archived,
        progress: progress.filter(|_| row.progress > 0.0),
        written: known_notes,
        ..Said::default()
    };
    let new = Said {
        tags,
        collections,
        favorite: new.favorite && !row.favorite,
        archived: new.archived && !row.archived,
        progress: progress.filter(|_| row.progress <= 0.0),
        written: notes,
        ..Said::default()
    };
    save::add_tags(txn, &row, &new.tags).await?;
    for collection in &new.collections {
        save::put_in(txn, user, *collection, row.id, now).await?;
    }
    let row = bookmark::Model {
        favorite: row.favorite || new.favorite,
        archived: row.archived || new.archived,
        progress: new.progress.unwrap_or(row.progress),
        ..row
    };
    let id = row.id;
    changed(txn, row, &new, now).await?;
    Ok(Became::Updated(ImportedKind::Bookmark, id.0, Box::new(Added { new, known, ..Added::default() })))
}

/// The notes on a bookmark.
///
/// # Errors
/// The database.
pub async fn noted(txn: &impl ConnectionTrait, user: UserId, id: BookmarkId) -> Result<String, Error> {
    let note = note::Entity::owned_by(user).filter(note::Column::BookmarkId.eq(id)).one(txn).await?;
    Ok(note.map(|note| note.body).unwrap_or_default())
}

/// Writes notes behind those that are there, unless they say it already; what was there, and what was written.
async fn add_notes(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    new: &str,
    now: Timestamp,
) -> Result<(Vec<String>, Vec<String>), Error> {
    if new.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let body = noted(txn, row.user_id, row.id).await?;
    if paragraphs::says(&body, new) {
        return Ok((vec![new.to_owned()], Vec::new()));
    }
    let body = paragraphs::with(&body, new);
    if body.chars().count() > LONGEST_NOTES {
        return Ok((Vec::new(), Vec::new()));
    }
    notes::write_on_bookmark(txn, row, &body, Priority::Backlog, now).await?;
    Ok((Vec::new(), vec![new.to_owned()]))
}

/// Takes the marks back that an entry was given.
///
/// # Errors
/// The database.
pub async fn unflag(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: EntryId,
    added: &Said,
) -> Result<(), Error> {
    for (column, given) in [(entry::Column::Read, added.read), (entry::Column::Starred, added.starred)] {
        if given {
            entry::Entity::update_many()
                .col_expr(column, Expr::value(false))
                .filter(entry::Column::UserId.eq(user))
                .filter(entry::Column::Id.eq(id))
                .exec(txn)
                .await?;
        }
    }
    Ok(())
}

/// Takes back what was added.
///
/// # Errors
/// The database.
pub async fn take_back(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: BookmarkId,
    added: &Said,
    now: Timestamp,
) -> Result<(), Error> {
    if *added == Said::default() || save::lock(txn, bookmark::Entity::one_of(user, id)).await?.is_empty() {
        return Ok(());
    }
    bookmark_tag::Entity::delete_many()
        .filter(bookmark_tag::Column::UserId.eq(user))
        .filter(bookmark_tag::Column::BookmarkId.eq(id))
        .filter(bookmark_tag::Column::Name.is_in(added.tags.clone()))
        .exec(txn)
        .await?;
    collection_bookmark::Entity::delete_many()
        .filter(collection_bookmark::Column::UserId.eq(user))
        .filter(collection_bookmark::Column::BookmarkId.eq(id))
        .filter(collection_bookmark::Column::CollectionId.is_in(added.collections.clone()))
        .exec(txn)
        .await?;
    let Some(row) = bookmark::Entity::one_of(user, id).one(txn).await? else { return Ok(()) };
    let body = noted(txn, user, id).await?;
    let left = paragraphs::left_of(&body, &added.written);
    if left != body {
        notes::write_on_bookmark(txn, &row, &left, Priority::Backlog, now).await?;
    }
    let progress = if added.progress == Some(row.progress) { 0.0 } else { row.progress };
    let row = bookmark::Model {
        favorite: row.favorite && !added.favorite,
        archived: row.archived && !added.archived,
        progress,
        ..row
    };
    changed(txn, row, added, now).await
}

async fn changed(
    txn: &impl ConnectionTrait,
    row: bookmark::Model,
    added: &Said,
    now: Timestamp,
) -> Result<(), Error> {
    if *added == Said::default() {
        return Ok(());
    }
    bookmark::Entity::update_many()
        .col_expr(bookmark::Column::Favorite, Expr::value(row.favorite))
        .col_expr(bookmark::Column::Archived, Expr::value(row.archived))
        .col_expr(bookmark::Column::Progress, Expr::value(row.progress))
        .filter(bookmark::Column::UserId.eq(row.user_id))
        .filter(bookmark::Column::Id.eq(row.id))
        .exec(txn)
        .await?;
    let row = save::touch(txn, row, now).await?;
    if added.collections.is_empty() { Ok(()) } else { relabel(txn, &row, now).await }
}
