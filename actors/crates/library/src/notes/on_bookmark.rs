//! The note on a bookmark.

use entity::{bookmark, document, note};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use values::id::{BookmarkId, DocumentId, NoteId, UserId};
use values::time::Timestamp;

use super::body::chunk_body;
use super::{empty_document, rewrite};
use errors::Error;
use jobs::Priority;

/// Locks a bookmark until the transaction ends and returns its note, if it has one.
///
/// # Errors
/// [`Error::NotFound`] when the bookmark was deleted meanwhile.
pub async fn lock_on_bookmark(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
) -> Result<Option<note::Model>, Error> {
    // The lock is on the bookmark, because there may be no note yet: of two first texts the second finds the note of the first.
    let locked = bookmark::Entity::one_visible_to(row.user_id, row.id).lock_exclusive();
    locked.one(txn).await?.ok_or(Error::not_found())?;
    let own = note::Entity::owned_by(row.user_id).filter(note::Column::BookmarkId.eq(row.id));
    Ok(own.one(txn).await?)
}

/// Returns the document of the note on a bookmark, if it has one.
pub async fn document_on_bookmark(
    db: &impl ConnectionTrait,
    user: UserId,
    bookmark: BookmarkId,
) -> Result<Option<DocumentId>, Error> {
    let note = note::Entity::owned_by(user).filter(note::Column::BookmarkId.eq(bookmark)).one(db).await?;
    Ok(note.map(|note| note.document_id))
}

/// Sets the text of the note on a bookmark. Creates the note for the first text; an empty text empties it. Returns the note, if
/// the bookmark has one now.
///
/// # Errors
/// [`Error::NotFound`] when the bookmark was deleted meanwhile.
pub async fn write_on_bookmark(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    body: &str,
    priority: Priority,
    now: Timestamp,
) -> Result<Option<note::Model>, Error> {
    let note = match lock_on_bookmark(txn, row).await? {
        // The same text again changes nothing, so nothing is indexed again.
        Some(note) if note.body == body => return Ok(Some(note)),
        Some(note) => note,
        None if body.is_empty() => return Ok(None),
        None => insert_on_bookmark(txn, row, now).await?,
    };
    rewrite(txn, note, body.to_owned(), chunk_body(body), priority, now).await.map(Some)
}

async fn insert_on_bookmark(
    txn: &impl ConnectionTrait,
    row: &bookmark::Model,
    now: Timestamp,
) -> Result<note::Model, Error> {
    let page = document::Entity::with_hidden(row.user_id).filter(document::Column::Id.eq(row.document_id));
    let title = page.one(txn).await?.map(|page| page.title).unwrap_or_default();
    let document = document::Model { bookmark_id: Some(row.id), ..empty_document(row.user_id, title, now) };
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(txn).await?;
    let note = note::Model {
        id: NoteId::new(now),
        user_id: row.user_id,
        document_id: document.id,
        bookmark_id: Some(row.id),
        project_id: None,
        title: String::new(),
        body: String::new(),
        pinned: false,
        created_at: now,
        updated_at: now,
    };
    note::Entity::insert(note.clone().into_active_model()).exec_without_returning(txn).await?;
    Ok(note)
}
