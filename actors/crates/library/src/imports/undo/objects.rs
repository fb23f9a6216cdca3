//! Deletes an object that an import created, unless it was changed since or is in use.

use entity::decision;
use entity::import_row::Model;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use uuid::Uuid;
use values::id::{BookmarkId, DecisionId, FeedId, NoteId, ProjectId, UserId};
use values::kind::ImportedKind;
use values::time::Timestamp;

use super::super::fingerprint;
use super::super::rows::trace::RowTrace;
use super::decision::RowDecision;
use super::in_use;
use crate::{bookmarks, feeds, notes, projects};
use errors::Error;
use jobs::Priority;

/// Decides about the object that a row created, and deletes it if it is unchanged and not in use. A bookmark must
/// be locked by the caller.
pub async fn delete_if_unchanged(
    txn: &impl ConnectionTrait,
    row: &Model,
    now: Timestamp,
) -> Result<RowDecision, Error> {
    let (Some(kind), Some(id), user) = (row.kind, row.object_id, row.user_id) else {
        return Ok(RowDecision::Deleted);
    };
    // Locked before it is compared: otherwise the user could change it between the comparison and the deletion.
    in_use::lock(txn, user, kind, id).await?;
    let Some(current) = fingerprint::compute(txn, user, kind, &[id]).await?.remove(&id) else {
        return Ok(RowDecision::Deleted);
    };
    let is_unchanged = RowTrace::parse(row.detail.as_deref()).fingerprint == Some(current);
    if !is_unchanged || in_use::is_in_use(txn, row, kind, id).await? {
        return Ok(RowDecision::Retained);
    }
    delete(txn, user, (kind, id), now).await
}

async fn delete(
    txn: &impl ConnectionTrait,
    user: UserId,
    (kind, id): (ImportedKind, Uuid),
    now: Timestamp,
) -> Result<RowDecision, Error> {
    let deleted = match kind {
        ImportedKind::Bookmark => {
            bookmarks::delete(txn, user, BookmarkId(id), Priority::Backlog, now).await.map(|()| true)
        }
        ImportedKind::Feed => feeds::unfollow(txn, user, FeedId(id), now).await.map(|()| true),
        ImportedKind::Note => {
            notes::delete(txn, user, NoteId(id), Priority::Backlog, now).await.map(|()| true)
        }
        ImportedKind::Project => projects::delete_if_empty(txn, user, ProjectId(id)).await,
        ImportedKind::Decision => {
            let own = decision::Entity::delete_owned(user);
            own.filter(decision::Column::Id.eq(DecisionId(id))).exec(txn).await?;
            Ok(true)
        }
        // Collections are deleted last, and the others with the object that they belong to.
        ImportedKind::Collection | ImportedKind::Entry | ImportedKind::Highlight | ImportedKind::Item => {
            Ok(false)
        }
    };
    match deleted {
        // An object that the user deleted meanwhile counts as deleted; the undo must not fail because of it.
        Ok(true) | Err(Error::NotFound(_)) => Ok(RowDecision::Deleted),
        Ok(false) => Ok(RowDecision::Retained),
        Err(error) => Err(error),
    }
}
