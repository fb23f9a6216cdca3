//! Taking an import back: what it made goes, the newest first, and what it only added to loses the tags that it got. What
//! was deleted can be restored as after any deletion.

use entity::id::{
    BookmarkId, CollectionId, DecisionId, FeedId, HighlightId, ImportId, NoteId, ProjectId, ProjectItemId,
    UserId,
};
use entity::import::{self, Column, Entity};
use entity::kind::{ImportState, ImportedKind, RowOutcome};
use entity::{bookmark, collection, collection_bookmark, decision, highlight, import_row, job, project_item};
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

use super::pause::release_pages;
use super::{added, begin};
use crate::app::App;
use crate::desk::Desk;
use crate::error::Error;
use crate::ingest::{Failure, queue};
use crate::ops::{bookmarks, feeds, notes, projects};

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
    // What waited while it was paused finds its document gone.
    release_pages(&txn, &row, now).await?;
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
            .filter(import_row::Column::Kind.ne(ImportedKind::Collection))
            .order_by_desc(import_row::Column::Line)
            .order_by_desc(import_row::Column::Id)
            .limit(LOT)
            .all(&txn)
            .await?;
        if lot.is_empty() {
            if queue::finish(&txn, job, now).await? {
                remove_collections(&txn, import).await?;
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
        (RowOutcome::Updated, ImportedKind::Bookmark) => {
            let added = row.detail.as_deref().unwrap_or_default();
            added::take_back(txn, user, BookmarkId(id), added, now).await
        }
        (RowOutcome::Updated | RowOutcome::Skipped, _) => Ok(()),
        (RowOutcome::Created | RowOutcome::Beside, kind) => match kind {
            ImportedKind::Bookmark => gone(bookmarks::delete(txn, user, BookmarkId(id), now).await),
            ImportedKind::Feed => gone(feeds::leave(txn, user, FeedId(id), now).await),
            // They go last, once nothing is in them any more.
            ImportedKind::Collection => Ok(()),
            ImportedKind::Highlight => {
                let own = highlight::Entity::delete_many().filter(highlight::Column::UserId.eq(user));
                own.filter(highlight::Column::Id.eq(HighlightId(id))).exec(txn).await?;
                Ok(())
            }
            ImportedKind::Project => gone(projects::delete(txn, user, ProjectId(id), now).await),
            ImportedKind::Note => gone(notes::delete(txn, user, NoteId(id), now).await),
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
            // Those of a feed that was followed before stay, as what the feed brings does.
            ImportedKind::Entry => Ok(()),
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

/// The collections that were made, as often as one of them goes: those within others go before these.
async fn remove_collections(txn: &impl ConnectionTrait, import: &import::Model) -> Result<(), Error> {
    let made = import_row::Entity::within(import.user_id, import.id)
        .filter(import_row::Column::Kind.eq(ImportedKind::Collection))
        .filter(import_row::Column::Outcome.is_in([RowOutcome::Created, RowOutcome::Beside]))
        .order_by_desc(import_row::Column::Line)
        .all(txn)
        .await?;
    let mut left: Vec<CollectionId> = made.iter().filter_map(|row| row.made_id.map(CollectionId)).collect();
    loop {
        let before = left.len();
        let mut stay = Vec::new();
        for id in left {
            if !remove_empty(txn, import.user_id, id).await? {
                stay.push(id);
            }
        }
        left = stay;
        if left.len() == before {
            return Ok(());
        }
    }
}

/// A collection stays, with `false`, where something else is in it by now.
async fn remove_empty(txn: &impl ConnectionTrait, user: UserId, id: CollectionId) -> Result<bool, Error> {
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
    let gone = collection::Entity::delete_many()
        .filter(collection::Column::UserId.eq(user))
        .filter(collection::Column::Id.eq(id))
        .filter(Expr::col(collection::Column::Id).not_in_subquery(inside))
        .filter(Expr::col(collection::Column::Id).not_in_subquery(above))
        .exec(txn)
        .await?;
    Ok(gone.rows_affected > 0)
}
