//! One thing of an import: deleted if nobody has changed it since and it is not in use.

use entity::decision;
use entity::id::{BookmarkId, DecisionId, FeedId, NoteId, ProjectId, UserId};
use entity::import_row::Model;
use entity::kind::ImportedKind;
use entity::time::Timestamp;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::super::fingerprint;
use super::super::row_trace::RowTrace;
use super::{RowDecision, changes};
use errors::Error;
use jobs::Priority;
use actors::operations::{bookmarks, feeds, notes, projects};

/// Decides about what a row created, and deletes it if it is to be deleted. A bookmark is locked by the caller.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(super) async fn delete_unchanged(
    txn: &impl ConnectionTrait,
    row: &Model,
    now: Timestamp,
) -> Result<RowDecision, Error> {
    let (Some(kind), Some(id), user) = (row.kind, row.made_id, row.user_id) else {
        return Ok(RowDecision::Gone);
    };
    changes::lock(txn, user, kind, id).await?;
    let Some(current) = fingerprint::of(txn, user, kind, &[id]).await?.remove(&id) else {
        return Ok(RowDecision::Gone);
    };
    let is_unchanged = RowTrace::parse(row.detail.as_deref()).fingerprint == Some(current);
    if !is_unchanged || changes::is_in_use(txn, row, kind, id).await? {
        return Ok(RowDecision::Kept);
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
        ImportedKind::Feed => feeds::leave(txn, user, FeedId(id), now).await.map(|()| true),
        ImportedKind::Note => notes::take_back(txn, user, NoteId(id), now).await.map(|()| true),
        ImportedKind::Project => projects::delete_empty(txn, user, ProjectId(id)).await,
        ImportedKind::Decision => {
            let own = decision::Entity::delete_many().filter(decision::Column::UserId.eq(user));
            own.filter(decision::Column::Id.eq(DecisionId(id))).exec(txn).await?;
            Ok(true)
        }
        // Collections are deleted last; the others are deleted with what they belong to.
        ImportedKind::Collection | ImportedKind::Entry | ImportedKind::Highlight | ImportedKind::Item => {
            Ok(false)
        }
    };
    match deleted {
        Ok(true) | Err(Error::NotFound(_)) => Ok(RowDecision::Gone),
        Ok(false) => Ok(RowDecision::Kept),
        Err(error) => Err(error),
    }
}
