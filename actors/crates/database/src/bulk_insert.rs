//! Inserting many rows.
//!
//! A connection keeps a hundred prepared statements by their texts, and an insert of each number of rows is another text. So rows are
//! inserted by statements of a few widths: a batch of any size neither needs a new text nor pushes the statements of other work out.

use sea_orm::sea_query::OnConflict;
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, Iterable, TryInsertResult};

/// Maximum number of bound values of a statement. SQLite allows 32,766, but a prepared statement keeps memory for each of them, and from
/// about a hundred rows on the cost of a row does not fall further.
const MAX_STATEMENT_VALUES: usize = 4096;
/// Up to this number of rows each number has its own statement: few tags of a bookmark are one statement.
const MAX_EXACT_ROWS: usize = 4;

/// Inserts rows in few statements, each of one of a few widths. Returns the number of rows that were inserted; with `conflict`, fewer than
/// were given where it skips some.
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
    let max_rows = max_rows(E::Column::iter().count());
    let mut rows = rows.into_iter().map(IntoActiveModel::into_active_model);
    let mut inserted = 0;
    loop {
        let mut batch: Vec<E::ActiveModel> = rows.by_ref().take(max_rows).collect();
        if batch.is_empty() {
            return Ok(inserted);
        }
        while !batch.is_empty() {
            let rest = batch.split_off(statement_rows(batch.len()));
            let mut insert = E::insert_many(batch);
            if let Some(conflict) = conflict {
                insert = insert.on_conflict(conflict.clone());
            }
            // A statement that skips every row is reported as a conflict instead of a count of 0.
            if let TryInsertResult::Inserted(count) = insert.try_insert().exec_without_returning(db).await? {
                inserted += count;
            }
            batch = rest;
        }
    }
}

/// Returns the largest number of rows of a statement for a table with this many columns: a power of two.
fn max_rows(columns: usize) -> usize {
    largest_power_of_two((MAX_STATEMENT_VALUES / columns.max(1)).max(1))
}

/// Returns how many of these rows, of which there is at least one, the next statement inserts.
fn statement_rows(rows: usize) -> usize {
    if rows <= MAX_EXACT_ROWS { rows } else { largest_power_of_two(rows) }
}

/// Returns the largest power of two up to a number, which is at least 1.
fn largest_power_of_two(number: usize) -> usize {
    1 << number.ilog2()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn widths(mut rows: usize) -> Vec<usize> {
        let mut widths = Vec::new();
        while rows > 0 {
            widths.push(statement_rows(rows));
            rows -= statement_rows(rows);
        }
        widths
    }

    #[test]
    fn rows_are_split_into_few_widths() {
        assert_eq!(widths(3), [3]);
        assert_eq!(widths(4), [4]);
        assert_eq!(widths(7), [4, 3]);
        assert_eq!(widths(255), [128, 64, 32, 16, 8, 4, 3]);

        let all: BTreeSet<usize> = (1..=256).flat_map(widths).collect();
        assert_eq!(Vec::from_iter(all), [1, 2, 3, 4, 8, 16, 32, 64, 128, 256]);
    }

    #[test]
    fn statement_has_a_bounded_number_of_values() {
        assert_eq!([max_rows(0), max_rows(1), max_rows(3), max_rows(29)], [4096, 4096, 1024, 128]);
        assert_eq!(max_rows(MAX_STATEMENT_VALUES + 1), 1);
    }
}
