//! Deletes objects that an import created, unless they were changed since or are in use: bookmarks, of which a large import has many, with
//! a few statements for all of them; the others one by one.

use entity::decision;
use entity::import_row::Model;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use uuid::Uuid;
use values::id::{BookmarkId, DecisionId, FeedId, NoteId, ProjectId, UserId};
use values::kind::ImportedKind;
use values::time::Timestamp;

use super::super::fingerprint;
use super::super::rows::trace::RowTrace;
use super::decision::{BatchDecisions, RowDecision};
use super::in_use::{self, OwnedImport};
use crate::{bookmarks, feeds, notes, projects};
use errors::Error;
use jobs::Priority;

/// Decides about the bookmarks that these rows of an import created, and deletes those that are unchanged and not in use. The caller's
/// transaction has locked them.
pub async fn delete_unchanged_bookmarks(
    txn: &impl ConnectionTrait,
    import: OwnedImport,
    rows: &[&Model],
    decisions: &mut BatchDecisions,
    now: Timestamp,
) -> Result<(), Error> {
    let ids: Vec<Uuid> = rows.iter().filter_map(|row| row.object_id).collect();
    let current = fingerprint::compute(txn, import.user, ImportedKind::Bookmark, &ids).await?;
    // One that does not exist any more has no fingerprint.
    let unchanged =
        rows.iter().filter_map(|row| row.object_id.filter(|id| is_unchanged(row, current.get(id))));
    let in_use = in_use::find_bookmarks_in_use(txn, import, &unchanged.collect::<Vec<_>>()).await?;
    let mut deleted = Vec::new();
    for row in rows {
        let existing = row.object_id.and_then(|id| Some((id, current.get(&id)?)));
        let decision = match existing {
            Some((id, current)) if !is_unchanged(row, Some(current)) || in_use.contains(&id) => {
                RowDecision::Retained
            }
            Some((id, _)) => {
                deleted.push(BookmarkId(id));
                RowDecision::Deleted
            }
            None => RowDecision::Deleted,
        };
        decisions.record(row.id, decision);
    }
    bookmarks::delete_all(txn, import.user, &deleted, Priority::Backlog, now).await
}

/// Returns whether an object with this fingerprint is as its row left it.
fn is_unchanged(row: &Model, current: Option<&String>) -> bool {
    current.is_some() && RowTrace::parse(row.detail.as_deref()).fingerprint.as_ref() == current
}

/// Decides about the object that a row created, and deletes it if it is unchanged and not in use. It must not be a bookmark.
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
    if !is_unchanged(row, Some(&current)) || in_use::is_in_use(txn, row, kind, id).await? {
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
        // Bookmarks are deleted together, collections last, and the others with the object that they belong to.
        ImportedKind::Bookmark
        | ImportedKind::Collection
        | ImportedKind::Entry
        | ImportedKind::Highlight
        | ImportedKind::Item => Ok(false),
    };
    match deleted {
        // An object that the user deleted meanwhile counts as deleted; the undo must not fail because of it.
        Ok(true) | Err(Error::NotFound(_)) => Ok(RowDecision::Deleted),
        Ok(false) => Ok(RowDecision::Retained),
        Err(error) => Err(error),
    }
}
