//! What a row adds to a bookmark that exists: tags and collections, and marks, progress and notes that it lacks.

use entity::bookmark;
use jobs::Priority;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::CollectionId;
use values::kind::ImportedKind;
use values::time::Timestamp;

use super::super::rows::result::RowResult;
use super::super::rows::trace::RowTrace;
use super::super::session::ImportSession;
use super::known_bookmark::KnownBookmark;
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
    let known = KnownBookmark::load(txn, row).await?;
    let (missing, notes) = (MissingAttributes::find(&known, page), extended_notes(&known, page));
    let row = known.row;
    if let Some(body) = &notes {
        notes::write_on_bookmark(txn, &row, body, Priority::Backlog, now).await?;
    }
    bookmarks::add_tags(txn, &row, &missing.tags, now).await?;
    for collection in &missing.collections {
        bookmarks::add_to_collection(txn, &row, *collection, now).await?;
    }
    let id = row.id;
    let is_changed = notes.is_some() || missing.is_some();
    if is_changed {
        write_attributes(txn, row, &missing, now).await?;
    }
    Ok(RowResult::Updated(ImportedKind::Bookmark, id.0, RowTrace::addition(is_changed && !is_own)))
}

/// Returns whether a bookmark lacks nothing of a page, so that [`add_to_bookmark`] would not change it.
pub fn has_all_of(known: &KnownBookmark, page: &NewBookmark) -> bool {
    !MissingAttributes::find(known, page).is_some() && extended_notes(known, page).is_none()
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
    fn find(known: &KnownBookmark, page: &NewBookmark) -> Self {
        let KnownBookmark { row, tags, collections, .. } = known;
        // A file states how far the page was read in another program, so it never sets back what the user has read since.
        let is_unread = row.progress <= 0.0;
        Self {
            tags: page.tags.iter().filter(|tag| !tags.contains(*tag)).cloned().collect(),
            collections: page.collections.iter().copied().filter(|id| !collections.contains(id)).collect(),
            favorite: page.favorite && !row.favorite,
            archived: page.archived && !row.archived,
            progress: Some(page.progress).filter(|progress| *progress > 0.0 && is_unread),
        }
    }

    fn is_some(&self) -> bool {
        !self.tags.is_empty()
            || !self.collections.is_empty()
            || self.favorite
            || self.archived
            || self.progress.is_some()
    }
}

/// Writes the marks and the time of the change.
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
    bookmarks::touch(txn, row, now).await?;
    Ok(())
}

/// Returns the notes of a bookmark with those of a page appended; `None` if the page has none, if the bookmark has them already, or if they
/// would be too long.
fn extended_notes(known: &KnownBookmark, page: &NewBookmark) -> Option<String> {
    let new = page.notes.as_deref().filter(|new| !new.is_empty())?;
    if paragraphs::contain(&known.notes, new) {
        return None;
    }
    // Cutting would take away what the user wrote; the row still adds its tags and marks.
    Some(paragraphs::append(&known.notes, new)).filter(|body| body.chars().count() <= MAX_NOTES_CHARS)
}
