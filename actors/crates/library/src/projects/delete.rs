//! Deleting projects.

use entity::{decision, document, project, project_item};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use values::id::{DocumentId, ProjectId, UserId};
use values::time::Timestamp;

use super::lock;
use errors::Error;
use jobs::{JobKind, Priority};

/// Deletes a project, archived or not, with its decisions and notes. Its other items stay in the library.
///
/// # Errors
/// [`Error::NotFound`] when the project does not exist or belongs to another user.
pub async fn delete(
    txn: &impl ConnectionTrait,
    user: UserId,
    id: ProjectId,
    now: Timestamp,
) -> Result<(), Error> {
    let project = lock(txn, user, id).await?;
    let of_project = document::Column::ProjectId.eq(project.id);
    let notes: Vec<DocumentId> = document::Entity::with_hidden(user)
        .filter(of_project.clone())
        .select_only()
        .column(document::Column::Id)
        .into_tuple()
        .all(txn)
        .await?;
    for note in notes {
        jobs::enqueue(txn, user, JobKind::RemoveFromIndex, note.0, Priority::Now, now).await?;
    }
    // The documents of its notes refer to the project without a foreign key, so they are deleted here, and their notes with them.
    let documents = document::Entity::delete_owned(user);
    documents.filter(of_project).exec(txn).await?;
    project::Entity::delete_owned_row(txn, user, project).await?;
    Ok(())
}

/// Deletes a project, archived or not, if it is empty. Items whose bookmarks were deleted do not count. Returns
/// `false` if the project stays.
///
/// # Errors
/// [`Error::NotFound`] when the project does not exist or belongs to another user.
pub async fn delete_if_empty(txn: &impl ConnectionTrait, user: UserId, id: ProjectId) -> Result<bool, Error> {
    let project = lock(txn, user, id).await?;
    let notes = document::Entity::with_hidden(user).filter(document::Column::ProjectId.eq(project.id));
    let is_empty = notes.one(txn).await?.is_none()
        && decision::Entity::within(&project).one(txn).await?.is_none()
        && project_item::Entity::within(&project).one(txn).await?.is_none();
    if is_empty {
        project::Entity::delete_owned_row(txn, user, project).await?;
    }
    Ok(is_empty)
}
