//! What an import made and another one relies on goes over to that one when the first is taken back.

use entity::id::{CollectionId, ImportId, ImportRowId, UserId};
use entity::import_row::{Column, Entity, Model};
use entity::kind::{ImportedKind, RowOutcome};
use entity::time::Timestamp;
use entity::{collection, collection_bookmark};
use sea_orm::sea_query::{Expr, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder,
};
use uuid::Uuid;

use crate::error::Error;

/// What another import found there too stays, and is that one's from now on; whether there is one.
///
/// # Errors
/// The database.
pub async fn thing(
    txn: &impl ConnectionTrait,
    user: UserId,
    import: ImportId,
    thing: Uuid,
) -> Result<bool, Error> {
    let others = Entity::owned_by(user)
        .filter(Column::MadeId.eq(thing))
        .filter(Column::ImportId.ne(import))
        .filter(Column::Outcome.is_in([RowOutcome::Updated, RowOutcome::Beside]))
        .order_by_asc(Column::Id);
    let Some(other) = others.one(txn).await? else { return Ok(false) };
    if other.outcome == RowOutcome::Beside {
        return Ok(true);
    }
    Entity::update_many()
        .col_expr(Column::Outcome, Expr::value(RowOutcome::Created))
        .filter(Column::UserId.eq(other.user_id))
        .filter(Column::Id.eq(other.id))
        .exec(txn)
        .await?;
    Ok(true)
}

/// Collections that are not empty become those of imports that brought something into them, the inner ones first.
///
/// # Errors
/// The database.
pub async fn collections(
    txn: &impl ConnectionTrait,
    (user, import): (UserId, ImportId),
    mut all: Vec<CollectionId>,
    now: Timestamp,
) -> Result<(), Error> {
    loop {
        let mut left = Vec::new();
        for &id in &all {
            let handed =
                thing(txn, user, import, id.0).await? || collection(txn, (user, import), id, now).await?;
            if !handed {
                left.push(id);
            }
        }
        if left.len() == all.len() {
            return Ok(());
        }
        all = left;
    }
}

async fn collection(
    txn: &impl ConnectionTrait,
    (user, import): (UserId, ImportId),
    id: CollectionId,
    now: Timestamp,
) -> Result<bool, Error> {
    let within = |kind: ImportedKind, things: SelectStatement| {
        Condition::all().add(Column::Kind.eq(kind)).add(Column::MadeId.in_subquery(things))
    };
    let others = Entity::owned_by(user)
        .filter(Column::ImportId.ne(import))
        .filter(
            Condition::any()
                .add(within(ImportedKind::Bookmark, filed_in(user, id)))
                .add(within(ImportedKind::Collection, inner_of(user, id))),
        )
        .order_by_asc(Column::Id);
    let Some(other) = others.one(txn).await? else { return Ok(false) };
    let row = Model {
        id: ImportRowId::new(now),
        outcome: RowOutcome::Beside,
        kind: Some(ImportedKind::Collection),
        source_id: None,
        made_id: Some(id.0),
        detail: None,
        ..other
    };
    Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    Ok(true)
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
