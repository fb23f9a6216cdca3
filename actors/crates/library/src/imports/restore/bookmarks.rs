//! Restores bookmarks, of pages and of uploads.

use entity::{bookmark, document, note};
use jobs::JobKind;
use parse::archive::{BookmarkRecord, DocumentRecord};
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, IntoActiveModel, QueryFilter};
use serde_json::json;
use values::id::{BookmarkId, DocumentId};
use values::time::Timestamp;

use super::super::archived_document;
use super::super::bookmark_rows::fields;
use super::super::bookmark_rows::save::save_page;
use super::super::bookmark_rows::upload::save_upload;
use super::super::reading::archive_file::ArchiveFile;
use super::super::rows::result::RowResult;
use super::super::session::ImportSession;
use crate::bookmarks::NewBookmark;
use crate::notes;
use errors::Error;

/// Restores the bookmark of a page or of an upload. An existing one gets what it lacks.
pub async fn restore(
    session: &mut ImportSession,
    txn: &impl ConnectionTrait,
    mut record: BookmarkRecord,
    file: Option<ArchiveFile>,
    now: Timestamp,
) -> Result<RowResult, Error> {
    let mut new = match read_bookmark(session, &record) {
        Ok(new) => new,
        Err(skipped) => return Ok(skipped),
    };
    // A collection that the user deleted since its line was imported is left out; the bookmark is restored all the same.
    for source in std::mem::take(&mut record.collections) {
        new.collections.extend(session.lock_imported_collection(txn, source).await?);
    }
    let (text, upload) = (record.text.take(), record.file.take());
    let result = match upload {
        Some(upload) => save_upload(session, txn, new, upload, file, text, now).await?,
        None => restore_page(session, txn, new, text, now).await?,
    };
    // Only for a new bookmark: the note on an existing one is the user's, and keeps its times.
    if let (RowResult::Created(_, id, _), Some(created_at)) = (&result, record.notes_created_at) {
        let own = note::Entity::owned_by(session.import().user_id).filter(note::Column::BookmarkId.eq(*id));
        if let Some(note) = own.one(txn).await? {
            notes::set_times(txn, &note, created_at, record.notes_updated_at.unwrap_or(created_at)).await?;
        }
    }
    Ok(result)
}

/// Reads a bookmark without its text, by the same rules as the fields of a saved page. A complete bookmark is never fetched, so
/// its URL may lead anywhere.
///
/// # Errors
/// The [`RowResult`] of a line that is skipped.
pub fn read_bookmark(session: &ImportSession, record: &BookmarkRecord) -> Result<NewBookmark, RowResult> {
    if !(0.0..=1.0).contains(&record.progress) {
        return Err(RowResult::unknown_record());
    }
    let is_complete =
        record.file.is_some() || record.text.as_ref().is_some_and(archived_document::is_complete);
    let members = json!({
        "url": record.url, "tags": record.tags, "favorite": record.favorite, "archived": record.archived,
        "savedAt": record.saved_at, "notes": record.notes,
    });
    let members = members.as_object().cloned().unwrap_or_default();
    let new = if is_complete {
        fields::read_unfetched(members)
    } else {
        fields::read_bookmark(members, &session.context().guard)
    };
    Ok(NewBookmark { progress: record.progress, ..new.map_err(RowResult::Skipped)? })
}

async fn restore_page(
    session: &mut ImportSession,
    txn: &impl ConnectionTrait,
    mut new: NewBookmark,
    text: Option<DocumentRecord>,
    now: Timestamp,
) -> Result<RowResult, Error> {
    let user = session.import().user_id;
    new.title = text.as_ref().filter(|text| text.title_given).map(|text| text::without_controls(&text.title));
    let (result, created) = save_page(session, txn, new, now).await?;
    let Some(row) = created else { return Ok(result) };
    let document = document::Entity::one_visible_to(user, row.document_id).one(txn).await?;
    // A document that has a text belongs to an entry of a feed, which existed before; the export does not replace that text.
    if let (Some(document), Some(text)) = (document.filter(|document| document.version == 0), text) {
        let document = archived_document::with_metadata(document, &text);
        let changed = document.clone().into_active_model().reset_all();
        document::Entity::update_owned_row(txn, user, changed).await?;
        // Saving the page enqueued its fetch, which the restored text makes unnecessary. No worker has it: it is not committed.
        if archived_document::restore_text(txn, &document, text, now).await? {
            jobs::withdraw(txn, user, JobKind::FetchPage, document.id.0).await?;
        }
    }
    Ok(result)
}

/// Returns the document of a bookmark that was imported.
pub async fn document_of(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    id: BookmarkId,
) -> Result<Option<DocumentId>, Error> {
    let row = bookmark::Entity::one_visible_to(session.import().user_id, id).one(txn).await?;
    Ok(row.map(|row| row.document_id))
}
