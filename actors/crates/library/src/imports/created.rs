//! The objects that an import created, by its rows.

use entity::{import, import_row};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;
use values::id::CollectionId;
use values::kind::{ImportedKind, RowOutcome};

/// Lists the bookmarks that an import created and that no undo deleted.
pub async fn list_bookmarks(db: &impl ConnectionTrait, import: &import::Model) -> Result<Vec<Uuid>, DbErr> {
    import_row::Entity::within(import.user_id, import.id)
        .filter(import_row::Column::Outcome.eq(RowOutcome::Created))
        .filter(import_row::Column::Kind.eq(ImportedKind::Bookmark))
        .filter(import_row::Column::ObjectId.is_not_null())
        .select_only()
        .column(import_row::Column::ObjectId)
        .into_tuple()
        .all(db)
        .await
}

/// Lists the collections that an import created and that no undo deleted, the latest first: inner ones before their parents.
pub async fn list_collections(
    db: &impl ConnectionTrait,
    import: &import::Model,
) -> Result<Vec<CollectionId>, DbErr> {
    import_row::Entity::within(import.user_id, import.id)
        .filter(import_row::Column::Outcome.is_in([RowOutcome::Created, RowOutcome::Incidental]))
        .filter(import_row::Column::Kind.eq(ImportedKind::Collection))
        .filter(import_row::Column::ObjectId.is_not_null())
        // Several collections may be created for one line; their ids are in the order of creation, parents first.
        .order_by_desc(import_row::Column::Line)
        .order_by_desc(import_row::Column::Id)
        .select_only()
        .column(import_row::Column::ObjectId)
        .into_tuple()
        .all(db)
        .await
}
