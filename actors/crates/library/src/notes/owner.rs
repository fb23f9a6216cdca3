//! Changing and deleting a note: what it belongs to is locked before it.

use entity::{bookmark, document, note, project};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::{NoteId, UserId};
use values::time::Timestamp;

use super::on_bookmark::lock_on_bookmark;
use crate::projects;
use errors::Error;
use jobs::{JobKind, Priority};

/// The object that a note belongs to.
#[derive(Debug)]
pub enum NoteOwner {
    /// The project in which the note was written.
    Project(project::Model),
    /// The bookmark whose only note it is.
    Bookmark(bookmark::Model),
}

/// A note whose owner is locked until the transaction ends.
#[derive(Debug)]
pub struct LockedNote {
    /// The note, as it was read under the lock.
    pub note: note::Model,
    /// The locked project or bookmark.
    pub owner: NoteOwner,
}

impl NoteOwner {
    /// Records that something of the owner changed now.
    pub async fn touch(&self, txn: &impl ConnectionTrait, now: Timestamp) -> Result<(), Error> {
        match self {
            Self::Project(project) => projects::touch(txn, project, now).await,
            Self::Bookmark(row) => Ok(bookmark::Entity::touch(txn, row.user_id, [row.id], now).await?),
        }
    }
}

impl LockedNote {
    /// Deletes the note with its document, and enqueues the job that removes it from the index.
    pub async fn delete(
        self,
        txn: &impl ConnectionTrait,
        priority: Priority,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (user, document) = (self.note.user_id, self.note.document_id);
        jobs::enqueue(txn, user, JobKind::RemoveFromIndex, document.0, priority, now).await?;
        // The note and its items in projects reference the document, so the database deletes them with it.
        let own = document::Entity::delete_owned(user);
        own.filter(document::Column::Id.eq(document)).exec(txn).await?;
        self.owner.touch(txn, now).await
    }
}

/// Locks a note that may be changed.
///
/// # Errors
/// [`Error::NotFound`] when the note does not exist, belongs to another user, or its bookmark is deleted;
/// [`Error::ProjectArchived`] when its project is.
pub async fn lock_for_change(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: NoteId,
) -> Result<LockedNote, Error> {
    let LockedNote { note, owner } = lock(txn, user, id).await?;
    let owner = match owner {
        NoteOwner::Project(project) => NoteOwner::Project(projects::require_active(project)?),
        NoteOwner::Bookmark(row) => NoteOwner::Bookmark(row),
    };
    Ok(LockedNote { note, owner })
}

/// Deletes a note, also one of an archived project: the undo of an import must not fail because its project was archived since.
///
/// # Errors
/// [`Error::NotFound`] as [`lock_for_change`].
pub async fn delete(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: NoteId,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    lock(txn, user, id).await?.delete(txn, priority, now).await
}

async fn lock(txn: &impl ConnectionTrait, user: UserId, id: NoteId) -> Result<LockedNote, Error> {
    // Lock order: the owner before the note. So the note is read once to find its owner, and again under the owner's lock.
    let own = || note::Entity::one_of(user, id);
    let found = own().one(txn).await?.ok_or(Error::not_found())?;
    let owner = match (found.project_id, found.bookmark_id) {
        (Some(project), _) => NoteOwner::Project(projects::lock(txn, user, project).await?),
        (None, Some(bookmark)) => {
            let row =
                bookmark::Entity::one_visible_to(user, bookmark).one(txn).await?.ok_or(Error::not_found())?;
            lock_on_bookmark(txn, &row).await?;
            NoteOwner::Bookmark(row)
        }
        (None, None) => return Err(Error::not_found()),
    };
    // Read again: the note may have been changed or deleted before its owner was locked.
    Ok(LockedNote { note: own().one(txn).await?.ok_or(Error::not_found())?, owner })
}
