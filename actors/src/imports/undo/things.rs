//! One thing taken back: what was made goes, or goes over to an import that relies on it; what was there loses what it got.

use entity::id::{BookmarkId, DecisionId, EntryId, FeedId, HighlightId, NoteId, ProjectId, ProjectItemId};
use entity::import_row::Model;
use entity::kind::{ImportedKind, RowOutcome};
use entity::time::Timestamp;
use entity::{decision, highlight, project_item};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::super::{added, hand_on, known_highlights, said};
use super::kept;
use crate::error::Error;
use crate::ingest::queue::Priority;
use crate::ops::{bookmarks, feeds, notes, projects};

/// Takes back what became of a row.
///
/// # Errors
/// The database.
pub async fn take_back(txn: &impl ConnectionTrait, row: &Model, now: Timestamp) -> Result<(), Error> {
    let (Some(kind), Some(id), user) = (row.kind, row.made_id, row.user_id) else { return Ok(()) };
    match (row.outcome, kind) {
        (RowOutcome::Skipped, _) => Ok(()),
        // An entry stays as long as its feed does: what a feed brings is nobody's import.
        (_, ImportedKind::Entry) => {
            added::unflag(txn, user, EntryId(id), &said::alone(txn, row).await?).await
        }
        (RowOutcome::Updated, ImportedKind::Bookmark) => labels(txn, row, BookmarkId(id), now).await,
        (RowOutcome::Updated, _) => Ok(()),
        (RowOutcome::Created | RowOutcome::Beside, kind) => made(txn, row, (kind, id), now).await,
    }
}

/// Takes off what this row alone put on a bookmark.
async fn labels(
    txn: &impl ConnectionTrait,
    row: &Model,
    id: BookmarkId,
    now: Timestamp,
) -> Result<(), Error> {
    added::take_back(txn, row.user_id, id, &said::alone(txn, row).await?, now).await
}

async fn made(
    txn: &impl ConnectionTrait,
    row: &Model,
    (kind, id): (ImportedKind, Uuid),
    now: Timestamp,
) -> Result<(), Error> {
    let (user, made) = (row.user_id, said::Added::read(row.detail.as_deref())?);
    if kind != ImportedKind::Bookmark && !made.made {
        // It was there, and stays that of whoever made it.
        return Ok(());
    }
    if let Some(heir) = hand_on::heir(txn, user, row.import_id, id).await? {
        // What it put on the bookmark is not the other's.
        if kind == ImportedKind::Bookmark {
            labels(txn, row, BookmarkId(id), now).await?;
        }
        return hand_on::give(txn, row, &heir).await;
    }
    if kind == ImportedKind::Bookmark {
        return bookmark(txn, row, BookmarkId(id), now).await;
    }
    if kept::stays(txn, user, (kind, id), made.sum.as_deref()).await? {
        return Ok(());
    }
    match kind {
        ImportedKind::Feed => gone(feeds::leave(txn, user, FeedId(id), now).await),
        ImportedKind::Project => project(txn, row, ProjectId(id), now).await,
        ImportedKind::Note => gone(notes::take_back(txn, user, NoteId(id), now).await),
        ImportedKind::Highlight => {
            let own = highlight::Entity::delete_many().filter(highlight::Column::UserId.eq(user));
            own.filter(highlight::Column::Id.eq(HighlightId(id))).exec(txn).await?;
            Ok(())
        }
        ImportedKind::Decision => {
            let own = decision::Entity::delete_many().filter(decision::Column::UserId.eq(user));
            own.filter(decision::Column::Id.eq(DecisionId(id))).exec(txn).await?;
            Ok(())
        }
        ImportedKind::Item => {
            let own = project_item::Entity::delete_many().filter(project_item::Column::UserId.eq(user));
            own.filter(project_item::Column::Id.eq(ProjectItemId(id))).exec(txn).await?;
            Ok(())
        }
        // Collections go last, once nothing is in them any more.
        ImportedKind::Bookmark | ImportedKind::Collection | ImportedKind::Entry => Ok(()),
    }
}

/// A bookmark that its person uses stays, without what the import put on it.
async fn bookmark(
    txn: &impl ConnectionTrait,
    row: &Model,
    id: BookmarkId,
    now: Timestamp,
) -> Result<(), Error> {
    let (user, brought) = (row.user_id, said::alone(txn, row).await?);
    if kept::is_used(txn, user, id, &brought).await? {
        return added::take_back(txn, user, id, &brought, now).await;
    }
    known_highlights::stay_in(txn, user, id).await?;
    gone(bookmarks::delete(txn, user, id, Priority::Backlog, now).await)
}

/// A project goes where nothing is in it, and else over to an import that put something into it.
async fn project(
    txn: &impl ConnectionTrait,
    row: &Model,
    id: ProjectId,
    now: Timestamp,
) -> Result<(), Error> {
    match projects::delete_empty(txn, row.user_id, id).await {
        Ok(false) => hand_on::project(txn, row, id, now).await,
        deleted => gone(deleted),
    }
}

/// What is gone already need not go.
fn gone<T>(done: Result<T, Error>) -> Result<(), Error> {
    match done {
        Ok(_) | Err(Error::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
