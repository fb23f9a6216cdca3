//! One thing taken back: what was made goes, or goes over to an import that relies on it; what was there loses what it got.

use entity::id::{BookmarkId, DecisionId, EntryId, FeedId, HighlightId, NoteId, ProjectId, ProjectItemId};
use entity::import_row::Model;
use entity::kind::{ImportedKind, RowOutcome};
use entity::time::Timestamp;
use entity::{decision, highlight, project_item};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::super::{added, hand_on, said};
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
            added::unmark(txn, user, EntryId(id), &said::alone(txn, row).await?).await
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
    let user = row.user_id;
    if kind == ImportedKind::Highlight {
        return highlight(txn, row, HighlightId(id)).await;
    }
    if let Some(heir) = hand_on::heir(txn, user, row.import_id, id).await? {
        // What it put on the bookmark is not the other's.
        if kind == ImportedKind::Bookmark {
            labels(txn, row, BookmarkId(id), now).await?;
        }
        return hand_on::give(txn, &heir).await;
    }
    match kind {
        ImportedKind::Bookmark => bookmark(txn, row, BookmarkId(id), now).await,
        ImportedKind::Feed if kept::has_kept(txn, user, FeedId(id)).await? => Ok(()),
        ImportedKind::Feed => gone(feeds::leave(txn, user, FeedId(id), now).await),
        ImportedKind::Project => project(txn, row, ProjectId(id), now).await,
        ImportedKind::Note if kept::is_own(txn, user, NoteId(id)).await? => Ok(()),
        ImportedKind::Note => gone(notes::take_back(txn, user, NoteId(id), now).await),
        ImportedKind::Decision if kept::is_changed(txn, user, DecisionId(id)).await? => Ok(()),
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
        ImportedKind::Collection | ImportedKind::Entry | ImportedKind::Highlight => Ok(()),
    }
}

/// A highlight that its person has changed stays, and one in a bookmark that is deleted can be restored with it.
async fn highlight(txn: &impl ConnectionTrait, row: &Model, id: HighlightId) -> Result<(), Error> {
    let made = said::Added::read(row.detail.as_deref())?;
    if !made.made {
        return Ok(());
    }
    if let Some(heir) = hand_on::heir(txn, row.user_id, row.import_id, id.0).await? {
        said::keep(txn, &heir, &made).await?;
        return hand_on::give(txn, &heir).await;
    }
    if kept::is_removable(txn, row.user_id, id, made.mark.as_deref()).await? {
        let own = highlight::Entity::delete_many().filter(highlight::Column::UserId.eq(row.user_id));
        own.filter(highlight::Column::Id.eq(id)).exec(txn).await?;
    }
    Ok(())
}

async fn bookmark(
    txn: &impl ConnectionTrait,
    row: &Model,
    id: BookmarkId,
    now: Timestamp,
) -> Result<(), Error> {
    let mut brought = said::Added::read(row.detail.as_deref())?;
    // What it added to one that was handed on to it is not its person's.
    if !brought.made {
        labels(txn, row, id, now).await?;
        brought.new = said::Said::default();
    }
    if kept::is_used(txn, row, id, &brought.new).await? {
        return Ok(());
    }
    gone(bookmarks::delete(txn, row.user_id, id, Priority::Backlog, now).await)
}

/// A project goes where nothing is in it, and else over to an import that put something into it.
async fn project(
    txn: &impl ConnectionTrait,
    row: &Model,
    id: ProjectId,
    now: Timestamp,
) -> Result<(), Error> {
    match projects::delete_empty(txn, row.user_id, id).await {
        Ok(false) => hand_on::project(txn, (row.user_id, row.import_id), id, now).await,
        deleted => gone(deleted),
    }
}

/// What is gone already need not go.
fn gone<T>(done: Result<T, Error>) -> Result<(), Error> {
    match done {
        Ok(_) | Err(Error::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}
