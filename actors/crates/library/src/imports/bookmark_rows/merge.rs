//! What a row adds to a bookmark that exists: tags and collections, and marks, progress and notes that it lacks.

use std::collections::HashSet;

use entity::{bookmark, bookmark_tag, collection_bookmark, note};
use jobs::Priority;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::{BookmarkId, CollectionId, UserId};
use values::kind::ImportedKind;
use values::time::Timestamp;

use super::super::rows::result::RowResult;
use super::super::rows::trace::RowTrace;
use super::super::session::ImportSession;
use super::paragraphs;
use crate::bookmarks::{self, NewBookmark};
use crate::notes;
use errors::Error;

/// Characters of the notes on a bookmark.
const MAX_NOTES_CHARS: usize = 100_000;

/// Adds to a bookmark what it lacks of a page.
pub async fn add_to_bookmark(
    session: &mut ImportSession,
    txn: &impl ConnectionTrait,
    row: bookmark::Model,
    page: &NewBookmark,
    now: Timestamp,
) -> Result<RowResult, Error> {
    let user = row.user_id;
    bookmarks::lock(txn, bookmark::Entity::one_visible_to(user, row.id)).await?;
    // Read again: it may have changed before the lock was taken.
    let Some(row) = bookmark::Entity::one_visible_to(user, row.id).one(txn).await? else {
        return Ok(RowResult::Skipped("was deleted during the import".to_owned()));
    };
    // Before the first change: it computes the fingerprint that the bookmark has now.
    let is_own = session.record_extension(txn, row.id).await?;
    let missing = MissingAttributes::find(txn, &row, page).await?;
    let has_new_notes = add_notes(txn, &row, page.notes.as_deref().unwrap_or_default(), now).await?;
    bookmarks::add_tags(txn, &row, &missing.tags).await?;
    for collection in &missing.collections {
        bookmarks::add_to_collection(txn, &row, *collection, now).await?;
    }
    let id = row.id;
    let is_changed = has_new_notes || missing.is_some();
    if is_changed {
        write_attributes(txn, row, &missing, now).await?;
    }
    Ok(RowResult::Updated(ImportedKind::Bookmark, id.0, RowTrace::addition(is_changed && !is_own)))
}

/// The attributes that a page has and its bookmark lacks, without notes.
struct MissingAttributes {
    tags: Vec<String>,
    collections: Vec<CollectionId>,
    favorite: bool,
    archived: bool,
    progress: Option<f64>,
}

impl MissingAttributes {
    async fn find(
        txn: &impl ConnectionTrait,
        row: &bookmark::Model,
        page: &NewBookmark,
    ) -> Result<Self, Error> {
        let tagged = bookmark_tag::Entity::owned_by(row.user_id);
        let tagged = tagged.filter(bookmark_tag::Column::BookmarkId.eq(row.id)).all(txn).await?;
        let tagged: HashSet<String> = tagged.into_iter().map(|tag| tag.name).collect();
        let filed = collection_bookmark::Entity::owned_by(row.user_id);
        let filed = filed.filter(collection_bookmark::Column::BookmarkId.eq(row.id)).all(txn).await?;
        let filed: HashSet<CollectionId> = filed.into_iter().map(|filing| filing.collection_id).collect();
        // A file states how far the page was read in another program, so it never sets back what the user has read since.
        let is_unread = row.progress <= 0.0;
        Ok(Self {
            tags: page.tags.iter().filter(|tag| !tagged.contains(*tag)).cloned().collect(),
            collections: page.collections.iter().copied().filter(|id| !filed.contains(id)).collect(),
            favorite: page.favorite && !row.favorite,
            archived: page.archived && !row.archived,
            progress: Some(page.progress).filter(|progress| *progress > 0.0 && is_unread),
        })
    }

    fn is_some(&self) -> bool {
        !self.tags.is_empty()
            || !self.collections.is_empty()
            || self.favorite
            || self.archived
            || self.progress.is_some()
    }
}

/// Writes the marks and the time of the change, and has the index learn of new collections.
async fn write_attributes(
    txn: &impl ConnectionTrait,
    row: bookmark::Model,
    missing: &MissingAttributes,
    now: Timestamp,
) -> Result<(), Error> {
    bookmark::Entity::update_owned(row.user_id)
        .col_expr(bookmark::Column::Favorite, Expr::value(row.favorite || missing.favorite))
        .col_expr(bookmark::Column::Archived, Expr::value(row.archived || missing.archived))
        .col_expr(bookmark::Column::Progress, Expr::value(missing.progress.unwrap_or(row.progress)))
        .filter(bookmark::Column::Id.eq(row.id))
        .exec(txn)
        .await?;
    let row = bookmarks::touch(txn, row, now).await?;
    if missing.collections.is_empty() {
        Ok(())
    } else {
        bookmarks::enqueue_label_update(txn, &row, now).await
    }
}

/// Appends notes to those that exist, unless they contain them or would be too long. Returns whether anything was written.
async fn add_notes(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    new: &str,
    now: Timestamp,
) -> Result<bool, Error> {
    if new.is_empty() {
        return Ok(false);
    }
    let body = existing_notes(txn, row.user_id, row.id).await?;
    if paragraphs::contain(&body, new) {
        return Ok(false);
    }
    let body = paragraphs::append(&body, new);
    // Cutting would take away what the user wrote; the row still adds its tags and marks.
    if body.chars().count() > MAX_NOTES_CHARS {
        return Ok(false);
    }
    notes::write_on_bookmark(txn, row, &body, Priority::Backlog, now).await?;
    Ok(true)
}

async fn existing_notes(txn: &impl ConnectionTrait, user: UserId, id: BookmarkId) -> Result<String, Error> {
    let note = note::Entity::owned_by(user).filter(note::Column::BookmarkId.eq(id)).one(txn).await?;
    Ok(note.map(|note| note.body).unwrap_or_default())
}
