//! The note on a bookmark.

use database::insert_all;
use entity::{bookmark, document, note};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QuerySelect};
use values::id::{BookmarkId, DocumentId, NoteId, UserId};
use values::time::Timestamp;

use super::{empty_document, rewrite};
use crate::documents::{ChunkedDocument, insert_with_texts};
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
    rewrite(txn, note, body.to_owned(), ChunkedDocument::of_input(body), priority, now).await.map(Some)
}

/// The note on a bookmark that is new.
#[derive(Clone, Debug)]
pub struct NewBookmarkNote {
    /// The bookmark, which this transaction has inserted.
    pub bookmark: BookmarkId,
    /// Title of the bookmark's document.
    pub title: String,
    /// Text as Markdown.
    pub body: String,
}

/// Inserts the notes on new bookmarks, as [`write_on_bookmark`] does for one, with a few statements for all of them. No bookmark may
/// occur twice. An empty text makes no note.
pub async fn insert_on_new_bookmarks(
    txn: &impl ConnectionTrait,
    user: UserId,
    new: Vec<NewBookmarkNote>,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let (mut notes, mut texts) = (Vec::with_capacity(new.len()), Vec::with_capacity(new.len()));
    for NewBookmarkNote { bookmark, title, body } in new.into_iter().filter(|note| !note.body.is_empty()) {
        let document = document::Model { bookmark_id: Some(bookmark), ..empty_document(user, title, now) };
        let text = ChunkedDocument::of_input(&body);
        notes.push(note::Model { body, ..empty_note(user, document.id, bookmark, now) });
        texts.push((document, text));
    }
    if notes.is_empty() {
        return Ok(());
    }
    // The documents before the notes, which refer to them by a foreign key.
    insert_with_texts(txn, user, texts, priority, now).await?;
    insert_all::<note::Entity>(txn, notes, None).await?;
    Ok(())
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
    let note = empty_note(row.user_id, document.id, row.id, now);
    note::Entity::insert(note.clone().into_active_model()).exec_without_returning(txn).await?;
    Ok(note)
}

fn empty_note(user: UserId, document: DocumentId, bookmark: BookmarkId, now: Timestamp) -> note::Model {
    note::Model {
        id: NoteId::new(now),
        user_id: user,
        document_id: document,
        bookmark_id: Some(bookmark),
        project_id: None,
        title: String::new(),
        body: String::new(),
        pinned: false,
        created_at: now,
        updated_at: now,
    }
}
