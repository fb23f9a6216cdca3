//! What an import made and another one relies on goes over to that one when the first is taken back.

use entity::id::{CollectionId, ImportId, ImportRowId, ProjectId, UserId};
use entity::import_row::{Column, Entity, Model};
use entity::kind::{ImportedKind, RowOutcome};
use entity::time::Timestamp;
use entity::{collection, collection_bookmark, note};
use sea_orm::sea_query::{Expr, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder,
};
use uuid::Uuid;

use super::said::{self, Added};
use crate::error::Error;

/// The row of another import that found this there too: it stays, and is to be that one's.
///
/// # Errors
/// The database.
pub async fn heir(
    txn: &impl ConnectionTrait,
    user: UserId,
    import: ImportId,
    thing: Uuid,
) -> Result<Option<Model>, Error> {
    let others = Entity::owned_by(user)
        .filter(Column::MadeId.eq(thing))
        .filter(Column::ImportId.ne(import))
        .filter(Column::Outcome.is_in([RowOutcome::Updated, RowOutcome::Beside]))
        .order_by_asc(Column::Id);
    Ok(others.one(txn).await?)
}

/// Makes the thing of a row that one's.
///
/// # Errors
/// The database.
pub async fn give(txn: &impl ConnectionTrait, row: &Model, heir: &Model) -> Result<(), Error> {
    let made = Added::read(row.detail.as_deref())?;
    if made.sum.is_some() {
        let added = Added::read(heir.detail.as_deref())?;
        said::keep(txn, heir, &Added { made: true, sum: made.sum, ..added }).await?;
    }
    // What stands beside a row is that one's already.
    Entity::update_many()
        .col_expr(Column::Outcome, Expr::value(RowOutcome::Created))
        .filter(Column::UserId.eq(heir.user_id))
        .filter(Column::Id.eq(heir.id))
        .filter(Column::Outcome.eq(RowOutcome::Updated))
        .exec(txn)
        .await?;
    Ok(())
}

/// A collection that is not empty becomes that of an import that found it there or brought something into it; whether there
/// is one. The row is that by which it was made.
///
/// # Errors
/// The database.
pub async fn collection(
    txn: &impl ConnectionTrait,
    row: &Model,
    id: CollectionId,
    now: Timestamp,
) -> Result<bool, Error> {
    let user = row.user_id;
    if let Some(heir) = heir(txn, user, row.import_id, id.0).await? {
        give(txn, row, &heir).await?;
        return Ok(true);
    }
    let brought = Condition::any()
        .add(among(ImportedKind::Bookmark, filed_in(user, id)))
        .add(among(ImportedKind::Collection, inner_of(user, id)));
    leave(txn, row, brought, now).await
}

/// A project that is not empty becomes that of an import that put a note into it, where there is one.
///
/// # Errors
/// The database.
pub async fn project(
    txn: &impl ConnectionTrait,
    row: &Model,
    id: ProjectId,
    now: Timestamp,
) -> Result<(), Error> {
    let brought = Condition::any().add(among(ImportedKind::Note, notes_of(row.user_id, id)));
    leave(txn, row, brought, now).await.map(drop)
}

fn among(kind: ImportedKind, things: SelectStatement) -> Condition {
    Condition::all().add(Column::Kind.eq(kind)).add(Column::MadeId.in_subquery(things))
}

/// Writes down beside the first of these rows of other imports that what the row made is its now; whether there is one.
async fn leave(
    txn: &impl ConnectionTrait,
    row: &Model,
    to: Condition,
    now: Timestamp,
) -> Result<bool, Error> {
    let others = Entity::owned_by(row.user_id).filter(Column::ImportId.ne(row.import_id)).filter(to);
    let Some(other) = others.order_by_asc(Column::Id).one(txn).await? else { return Ok(false) };
    let beside = Model {
        id: ImportRowId::new(now),
        import_id: other.import_id,
        line: other.line,
        outcome: RowOutcome::Beside,
        source_id: None,
        ..row.clone()
    };
    Entity::insert(beside.into_active_model()).exec_without_returning(txn).await?;
    Ok(true)
}

fn notes_of(user: UserId, id: ProjectId) -> SelectStatement {
    Query::select()
        .column(note::Column::Id)
        .from(note::Entity)
        .and_where(note::Column::UserId.eq(user))
        .and_where(note::Column::ProjectId.eq(id))
        .to_owned()
}

fn filed_in(user: UserId, id: CollectionId) -> SelectStatement {
    Query::select()
        .column(collection_bookmark::Column::BookmarkId)
        .from(collection_bookmark::Entity)
        .and_where(collection_bookmark::Column::UserId.eq(user))
        .and_where(collection_bookmark::Column::CollectionId.eq(id))
        .to_owned()
}

fn inner_of(user: UserId, id: CollectionId) -> SelectStatement {
    Query::select()
        .column(collection::Column::Id)
        .from(collection::Entity)
        .and_where(collection::Column::UserId.eq(user))
        .and_where(collection::Column::ParentId.eq(id))
        .to_owned()
}
