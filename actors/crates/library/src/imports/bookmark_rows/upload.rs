//! Bookmarks of files that came in an archive.

use entity::{bookmark, document, upload};
use jobs::{JobKind, Priority};
use parse::archive::{DocumentRecord, FileRecord};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder};
use values::id::{BookmarkId, UploadId};
use values::kind::{BookmarkKind, ImportedKind};
use values::time::Timestamp;
use web::PageUrl;

use super::super::archived_document;
use super::super::limits::MAX_NAME_CHARS;
use super::super::reading::archive_file::ArchiveFile;
use super::super::rows::result::RowResult;
use super::super::session::ImportSession;
use super::merge::add_to_bookmark;
use crate::bookmarks::{self, NewBookmark};
use crate::stored_files::{self, FileOwner};
use crate::uploads::MediaType;
use errors::Error;

/// Creates the bookmark of a file that was copied from the archive. If there is an upload of the same bytes, its bookmark gets
/// what it lacks instead. Without a document record the text of the file is extracted later.
pub async fn save_upload(
    session: &mut ImportSession,
    txn: &impl ConnectionTrait,
    new: NewBookmark,
    record: FileRecord,
    file: Option<ArchiveFile>,
    text: Option<DocumentRecord>,
    now: Timestamp,
) -> Result<RowResult, Error> {
    let user = session.import().user_id;
    let (lease, sha256) = match file {
        Some(ArchiveFile::Stored(lease, sha256)) => (lease, sha256),
        Some(ArchiveFile::Refused(refusal)) => return Ok(refusal.into_row_result()),
        None => return Ok(RowResult::missing_parent()),
    };
    if let Some(existing) = find_same_file(session, txn, &sha256).await? {
        return add_to_bookmark(session, txn, existing, &new, now).await;
    }
    let text = match text {
        Some(text) => text,
        None => match MediaType::parse(&record.content_type).and_then(|media_type| media_type.content_type())
        {
            Some(kind) => DocumentRecord::unread(kind, record.filename.clone(), false),
            None => return Ok(RowResult::unknown_record()),
        },
    };
    let (id, upload) = (BookmarkId::new(now), UploadId::new(now));
    let awaited = document::Model::pending(user, text.content_type, text.title.clone(), now);
    let document =
        archived_document::with_metadata(document::Model { bookmark_id: Some(id), ..awaited }, &text);
    let url = session.context().core.url_of(&document);
    let row = bookmark_row(id, &document, url, &new, now)?;
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    bookmark::Entity::insert(row.clone().into_active_model()).exec_without_returning(txn).await?;
    let completed = upload_row(&row, upload, record, sha256, now);
    upload::Entity::insert(completed.into_active_model()).exec_without_returning(txn).await?;
    // In this transaction: if it is rolled back, the file has no owner and is deleted once its lease is dropped and has expired.
    if !stored_files::assign(txn, lease.id, FileOwner::Upload(upload)).await? {
        return Err(Error::internal("a file was removed while it was written"));
    }
    bookmarks::add_attributes(txn, &row, &document, new, Priority::Backlog, now).await?;
    if !archived_document::restore_text(txn, &document, text, now).await? {
        jobs::enqueue(txn, user, JobKind::ProcessFile, document.id.0, Priority::Backlog, now).await?;
    }
    Ok(RowResult::of(ImportedKind::Bookmark, row.id.0, true))
}

/// Returns the row of the bookmark of an upload with this document.
fn bookmark_row(
    id: BookmarkId,
    document: &document::Model,
    url: String,
    new: &NewBookmark,
    now: Timestamp,
) -> Result<bookmark::Model, Error> {
    Ok(bookmark::Model {
        id,
        user_id: document.user_id,
        document_id: document.id,
        kind: BookmarkKind::Upload,
        content_type: document.content_type,
        normalized_url: PageUrl::parse(&url).map_err(Error::internal)?.normalized(),
        title: document.title.clone(),
        url,
        favorite: new.favorite,
        archived: new.archived,
        progress: new.progress,
        saved_at: new.saved_at.unwrap_or(now),
        created_at: now,
        updated_at: now,
        deleted_at: None,
    })
}

/// Returns the row of an upload that is complete from the beginning.
fn upload_row(
    row: &bookmark::Model,
    id: UploadId,
    record: FileRecord,
    sha256: String,
    now: Timestamp,
) -> upload::Model {
    upload::Model {
        id,
        user_id: row.user_id,
        filename: text::cut(&record.filename, MAX_NAME_CHARS),
        content_type: record.content_type,
        bytes: i64::try_from(record.bytes).unwrap_or(i64::MAX),
        created_at: now,
        expires_at: now,
        receiving_until: Timestamp::from_millis(0),
        arrived_at: Some(now),
        sha256: Some(sha256),
        completed_at: Some(now),
        document_id: Some(row.document_id),
        bookmark_id: Some(row.id),
    }
}

/// Finds the bookmark of an upload with the same bytes, unless a line of this import became it already: two bookmarks
/// of one file stay two.
pub async fn find_same_file(
    session: &ImportSession,
    txn: &impl ConnectionTrait,
    sha256: &str,
) -> Result<Option<bookmark::Model>, Error> {
    let user = session.import().user_id;
    let same = upload::Entity::owned_by(user)
        .filter(upload::Column::Sha256.eq(sha256))
        .filter(upload::Column::CompletedAt.is_not_null());
    for upload in same.order_by_asc(upload::Column::Id).all(txn).await? {
        let Some(id) = upload.bookmark_id else { continue };
        let Some(row) = bookmark::Entity::one_visible_to(user, id).one(txn).await? else { continue };
        if !session.is_claimed(txn, ImportedKind::Bookmark, id.0).await? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}
