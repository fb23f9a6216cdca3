//! Inserting many rows.

use sea_orm::sea_query::OnConflict;
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, Iterable, TryInsertResult};

/// Maximum number of bound values of a statement in SQLite; PostgreSQL allows twice as many.
const MAX_STATEMENT_VALUES: usize = 32_766;

/// Inserts rows in as few statements as possible. Returns the number of rows that were inserted; with `conflict`, fewer than were
/// given where it skips some.
///
/// # Errors
/// [`DbErr`] when a statement fails. Outside of a transaction the rows of the statements before it stay inserted.
pub async fn insert_all<E: EntityTrait>(
    db: &impl ConnectionTrait,
    rows: impl IntoIterator<Item = E::Model>,
    conflict: Option<&OnConflict>,
) -> Result<u64, DbErr>
where
    E::Model: IntoActiveModel<E::ActiveModel>,
{
    // Rows as wide as a document reach the maximum with about a thousand, so the number depends on the table.
    let rows_per_statement = MAX_STATEMENT_VALUES / E::Column::iter().count().max(1);
    let mut rows = rows.into_iter().map(IntoActiveModel::into_active_model).peekable();
    let mut inserted = 0;
    while rows.peek().is_some() {
        let mut insert = E::insert_many(rows.by_ref().take(rows_per_statement));
        if let Some(conflict) = conflict {
            insert = insert.on_conflict(conflict.clone());
        }
        // A statement that skips every row is reported as a conflict instead of a count of 0.
        if let TryInsertResult::Inserted(count) = insert.try_insert().exec_without_returning(db).await? {
            inserted += count;
        }
    }
    Ok(inserted)
}
