//! Taking an import back: what it made goes, the newest first, and what it only added to loses the tags that it got. What
//! was deleted can be restored as after any deletion.

use entity::id::{BookmarkId, CollectionId, FeedId, HighlightId, ImportId, ProjectId, UserId};
use entity::import::{self, Column, Entity};
use entity::kind::{ImportState, ImportedKind, RowOutcome};
use entity::{bookmark, bookmark_tag, collection, collection_bookmark, highlight, import_row, job, project};
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::begin;
use crate::app::App;
use crate::desk::Desk;
use crate::error::Error;
use crate::ingest::{Failure, queue};
use crate::ops::bookmarks::save;
use crate::ops::{bookmarks, feeds};

/// Rows of one transaction.
const LOT: u64 = 100;

/// Begins to take an import back.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Conflict`] where nothing was made, or it is being made.
pub async fn undo(desk: &Desk, user: UserId, id: ImportId) -> Result<import::Model, Error> {
    let now = desk.clock.now();
    let txn = desk.db.begin().await?;
    let row = Entity::one_of(user, id).one(&txn).await?.ok_or(Error::NotFound)?;
    let begun = Entity::update_many()
        .col_expr(Column::State, Expr::value(ImportState::Undoing))
        .filter(Column::Id.eq(row.id))
        .filter(Column::DryRun.eq(false))
        .filter(Column::State.is_in([ImportState::Done, ImportState::Paused, ImportState::Failed]))
        .exec(&txn)
        .await?;
    if begun.rows_affected == 0 {
        return Err(Error::Conflict("the import can be taken back once it is done, paused or failed"));
    }
    begin::ask(&txn, &row, now).await?;
    txn.commit().await?;
    Ok(import::Model { state: ImportState::Undoing, ..row })
}

/// Takes rows back, a lot at a time.
///
/// # Errors
/// [`Failure`], as every job.
pub async fn run(app: &App, job: &job::Model, import: &import::Model) -> Result<(), Failure> {
    loop {
        let now = app.clock.now();
        let txn = app.db.begin().await?;
        let lot = import_row::Entity::within(import.user_id, import.id)
            .filter(import_row::Column::MadeId.is_not_null())
            .order_by_desc(import_row::Column::Id)
            .limit(LOT)
            .all(&txn)
            .await?;
        if lot.is_empty() {
            if queue::finish(&txn, job, now).await? {
                undone(&txn, import, now).await?;
                txn.commit().await?;
            }
            return Ok(());
        }
        if !queue::advance(&txn, job, now).await? {
            return Err(Failure::LeaseLost);
        }
        for row in &lot {
            take_back(&txn, app, row).await?;
        }
        import_row::Entity::update_many()
            .col_expr(import_row::Column::MadeId, Expr::value(None::<Uuid>))
            .filter(import_row::Column::UserId.eq(import.user_id))
            .filter(import_row::Column::Id.is_in(lot.iter().map(|row| row.id)))
            .exec(&txn)
            .await?;
        txn.commit().await?;
        app.ingest.wake();
    }
}

async fn undone(
    txn: &impl ConnectionTrait,
    import: &import::Model,
    now: entity::time::Timestamp,
) -> Result<(), Error> {
    Entity::update_many()
        .col_expr(Column::State, Expr::value(ImportState::Undone))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(Column::UserId.eq(import.user_id))
        .filter(Column::Id.eq(import.id))
        .exec(txn)
        .await?;
    Ok(())
}

async fn take_back(txn: &impl ConnectionTrait, app: &App, row: &import_row::Model) -> Result<(), Error> {
    let (Some(kind), Some(id), user, now) = (row.kind, row.made_id, row.user_id, app.clock.now()) else {
        return Ok(());
    };
    match (row.outcome, kind) {
        (RowOutcome::Updated, ImportedKind::Bookmark) => take_tags(txn, row, BookmarkId(id)).await,
        (RowOutcome::Updated | RowOutcome::Skipped, _) => Ok(()),
        (RowOutcome::Created | RowOutcome::Beside, kind) => match kind {
            ImportedKind::Bookmark => gone(bookmarks::delete(txn, user, BookmarkId(id), now).await),
            ImportedKind::Feed => gone(feeds::leave(txn, user, FeedId(id), now).await),
            ImportedKind::Collection => remove_empty(txn, user, CollectionId(id)).await,
            ImportedKind::Highlight => {
                let own = highlight::Entity::delete_many().filter(highlight::Column::UserId.eq(user));
                own.filter(highlight::Column::Id.eq(HighlightId(id))).exec(txn).await?;
                Ok(())
            }
            ImportedKind::Project => {
                let own = project::Entity::delete_many().filter(project::Column::UserId.eq(user));
                own.filter(project::Column::Id.eq(ProjectId(id))).exec(txn).await?;
                Ok(())
            }
            // They go with what they belong to.
            ImportedKind::Entry | ImportedKind::Decision | ImportedKind::Note | ImportedKind::Item => Ok(()),
        },
    }
}

/// What is gone already need not go.
fn gone<T>(done: Result<T, Error>) -> Result<(), Error> {
    match done {
        Ok(_) | Err(Error::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn take_tags(txn: &impl ConnectionTrait, row: &import_row::Model, id: BookmarkId) -> Result<(), Error> {
    let tags: Vec<String> =
        row.detail.as_deref().and_then(|tags| serde_json::from_str(tags).ok()).unwrap_or_default();
    if tags.is_empty() || save::lock(txn, bookmark::Entity::one_of(row.user_id, id)).await?.is_empty() {
        return Ok(());
    }
    bookmark_tag::Entity::delete_many()
        .filter(bookmark_tag::Column::UserId.eq(row.user_id))
        .filter(bookmark_tag::Column::BookmarkId.eq(id))
        .filter(bookmark_tag::Column::Name.is_in(tags))
        .exec(txn)
        .await?;
    Ok(())
}

/// A collection stays where something else is in it by now.
async fn remove_empty(txn: &impl ConnectionTrait, user: UserId, id: CollectionId) -> Result<(), Error> {
    let inside = Query::select()
        .column(collection_bookmark::Column::CollectionId)
        .from(collection_bookmark::Entity)
        .inner_join(
            bookmark::Entity,
            Expr::col((bookmark::Entity, bookmark::Column::Id))
                .equals((collection_bookmark::Entity, collection_bookmark::Column::BookmarkId)),
        )
        .and_where(Expr::col((bookmark::Entity, bookmark::Column::DeletedAt)).is_null())
        .and_where(Expr::col((collection_bookmark::Entity, collection_bookmark::Column::UserId)).eq(user))
        .to_owned();
    let above = Query::select()
        .column(collection::Column::ParentId)
        .from(collection::Entity)
        .and_where(collection::Column::UserId.eq(user))
        .and_where(collection::Column::ParentId.is_not_null())
        .to_owned();
    collection::Entity::delete_many()
        .filter(collection::Column::UserId.eq(user))
        .filter(collection::Column::Id.eq(id))
        .filter(Expr::col(collection::Column::Id).not_in_subquery(inside))
        .filter(Expr::col(collection::Column::Id).not_in_subquery(above))
        .exec(txn)
        .await?;
    Ok(())
}
