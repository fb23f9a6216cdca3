//! Restores highlights.

use entity::{bookmark, document, highlight};
use parse::archive::HighlightRecord;
use sea_orm::sea_query::LockType;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect,
};
use values::id::{BookmarkId, HighlightId};
use values::kind::{AnchorState, ImportedKind};
use values::time::Timestamp;

use super::super::limits::MAX_TEXT_CHARS;
use super::super::rows::result::RowResult;
use super::super::rows::trace::RowTrace;
use super::super::session::ImportSession;
use crate::highlights::{self, Quotation, TextMatch};
use crate::{bookmarks, documents};
use errors::Error;

/// Characters of the name of a colour.
const MAX_COLOR_CHARS: usize = 50;

/// Restores a highlight of an imported bookmark, at the position of its words in the bookmark's current text.
pub async fn restore(
    session: &mut ImportSession,
    txn: &impl ConnectionTrait,
    record: HighlightRecord,
    now: Timestamp,
) -> Result<RowResult, Error> {
    let user = session.import().user_id;
    let bookmark = session.find_imported_of_kind(txn, ImportedKind::Bookmark, record.bookmark).await?;
    let Some(id) = bookmark.map(BookmarkId) else { return Ok(RowResult::missing_parent()) };
    if !is_valid(&record) {
        return Ok(RowResult::unknown_record());
    }
    // Locked, so that no other transaction highlights the same words or deletes the bookmark meanwhile.
    let locked = bookmark::Entity::one_visible_to(user, id).lock(LockType::NoKeyUpdate);
    let Some(saved) = locked.one(txn).await? else { return Ok(RowResult::missing_parent()) };
    let record = relocate(txn, &saved, record).await?;
    if let Some(existing) = find_same(session, txn, id, &record).await? {
        return Ok(RowResult::of(ImportedKind::Highlight, existing.id.0, false));
    }
    let row = highlight::Model {
        id: HighlightId::new(record.created_at),
        user_id: user,
        bookmark_id: id,
        text: text::cut(&record.text, MAX_TEXT_CHARS),
        note: record.note.map(|note| text::cut(&note, MAX_TEXT_CHARS)),
        color: record.color.map(|color| text::cut(&color, MAX_COLOR_CHARS)),
        start_offset: record.start_offset,
        end_offset: record.end_offset,
        anchor_state: AnchorState::Exact,
        created_at: record.created_at,
    };
    let created = row.id.0;
    let is_own = session.record_extension(txn, id).await?;
    highlight::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    documents::mark_bookmarks_unindexed(txn, user, &[id], now).await?;
    if !is_own {
        bookmarks::touch(txn, saved, now).await?;
    }
    Ok(RowResult::Created(ImportedKind::Highlight, created, RowTrace::addition(!is_own)))
}

/// Returns whether a record has words and a position. Words that were not found in their text have the position 0 to 0.
pub fn is_valid(record: &HighlightRecord) -> bool {
    let is_placed = record.start_offset >= 0 && record.end_offset > record.start_offset;
    !record.text.is_empty() && (is_placed || (record.start_offset, record.end_offset) == (0, 0))
}

/// Moves a highlight to where its words are in the current text of the bookmark, which may be another text than the exported one.
/// Words that are not found keep their position.
pub async fn relocate(
    db: &impl ConnectionTrait,
    saved: &bookmark::Model,
    record: HighlightRecord,
) -> Result<HighlightRecord, Error> {
    let (user, id) = (saved.user_id, saved.document_id);
    let quotation = Quotation { text: &record.text, start: record.start_offset, end: record.end_offset };
    match highlights::require_quotation(db, user, saved, quotation).await {
        Ok(()) => return Ok(record),
        Err(Error::Invalid(_)) => {}
        // The user deleted the bookmark meanwhile.
        Err(Error::NotFound(_)) => return Ok(record),
        Err(error) => return Err(error),
    }
    let Some(document) = document::Entity::one_visible_to(user, id).one(db).await? else { return Ok(record) };
    let text = documents::current_text(db, &document).await?;
    Ok(match highlights::find_text(&text, &record.text, record.start_offset) {
        Some(TextMatch { start, end, text }) => {
            HighlightRecord { start_offset: start, end_offset: end, text, ..record }
        }
        None => record,
    })
}

/// Finds the highlight at the same position of a bookmark, or with the same words if it has no position, unless a line of
/// this import became it already.
pub async fn find_same(
    session: &ImportSession,
    db: &impl ConnectionTrait,
    bookmark: BookmarkId,
    record: &HighlightRecord,
) -> Result<Option<highlight::Model>, Error> {
    let rows = highlight::Entity::owned_by(session.import().user_id)
        .filter(highlight::Column::BookmarkId.eq(bookmark))
        .filter(highlight::Column::StartOffset.eq(record.start_offset))
        .filter(highlight::Column::EndOffset.eq(record.end_offset))
        .order_by_asc(highlight::Column::Id);
    let rows = rows.all(db).await?.into_iter();
    for row in rows.filter(|row| record.end_offset > 0 || row.text == record.text) {
        if !session.is_claimed(db, ImportedKind::Highlight, row.id.0).await? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}
