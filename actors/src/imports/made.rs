//! What an import made, as its rows say.

use entity::id::CollectionId;
use entity::kind::{ImportedKind, RowOutcome};
use entity::{import, import_row};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect};
use uuid::Uuid;

/// The bookmarks that it made and that were not taken back.
///
/// # Errors
/// The database.
pub async fn bookmarks(db: &impl ConnectionTrait, import: &import::Model) -> Result<Vec<Uuid>, DbErr> {
    import_row::Entity::within(import.user_id, import.id)
        .filter(import_row::Column::Outcome.eq(RowOutcome::Created))
        .filter(import_row::Column::Kind.eq(ImportedKind::Bookmark))
        .filter(import_row::Column::MadeId.is_not_null())
        .select_only()
        .column(import_row::Column::MadeId)
        .into_tuple()
        .all(db)
        .await
}

/// The collections that it made, the latest first: those within others before these.
///
/// # Errors
/// The database.
pub async fn collections(
    db: &impl ConnectionTrait,
    import: &import::Model,
) -> Result<Vec<CollectionId>, DbErr> {
    import_row::Entity::within(import.user_id, import.id)
        .filter(import_row::Column::Outcome.is_in([RowOutcome::Created, RowOutcome::Beside]))
        .filter(import_row::Column::Kind.eq(ImportedKind::Collection))
        .filter(import_row::Column::MadeId.is_not_null())
        .order_by_desc(import_row::Column::Line)
        .select_only()
        .column(import_row::Column::MadeId)
        .into_tuple()
        .all(db)
        .await
}
