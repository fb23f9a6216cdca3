//! The counters, which are the numbers of rows that the API shows, and the triggers that keep them up to date. The queries that
//! compare them with the rows are in crate `database`.
//!
//! | Table | Row | Numbers |
//! |---|---|---|
//! | `account_count` | one for each account | bookmarks, documents, highlights, collections, feeds, projects, uploads and their bytes, documents that failed, jobs that wait or run |
//! | `feed_count` | one for each followed feed | entries, and those that are not read |
//! | `tag_count` | one for each tag of a user that a bookmark has | bookmarks with the tag |
//! | `collection_count` | one for each collection | bookmarks in the collection |
//! | `project_count` | one for each project | items, and those that are sources |
//!
//! Deleted bookmarks and hidden documents do not count. So the tags and collections of a bookmark change with it when it is deleted
//! and when it is restored. Whether an item of a project is visible, and whether a job waits or runs for a document that failed, are
//! columns of these rows, which triggers keep too ([`kept_columns`]).
//!
//! The database counts in the transaction that changes a row, as it does for `library_usage` ([`crate::library_usage`]): on SQLite
//! for each row, on PostgreSQL once for each statement. A transaction that changes a counted row locks its user's row of
//! `library_usage` first, so two transactions never count for the same user at the same time. The names of these triggers sort
//! after those of `library_usage`, because PostgreSQL runs triggers of one event by their names: a statement outside of such a
//! transaction locks the row of `library_usage` first, too.
//!
//! An account, a feed, a collection and a project have their row from their creation, so that counting is an update. The row is deleted
//! before them, so that the cascading deletes update nothing.

mod counted_rows;
mod counter_triggers;
mod item_visibility;
mod kept_column;
mod membership_triggers;
mod pending_jobs;
mod sum_counters;
mod trigger_sql;

use sea_orm_migration::sea_orm::DatabaseBackend;

pub use counted_rows::CounterTable;
pub use kept_column::KeptColumn;

/// Returns the five tables of counters.
pub fn counter_tables() -> [CounterTable; 5] {
    [
        counted_rows::accounts(),
        counted_rows::feeds(),
        counted_rows::tags(),
        counted_rows::collections(),
        counted_rows::projects(),
    ]
}

/// Returns the columns of counted rows that triggers keep. The counters are right only if these are.
pub fn kept_columns() -> [KeptColumn; 2] {
    [item_visibility::column(), pending_jobs::column()]
}

/// Returns the statements that create the triggers, and on PostgreSQL their functions.
pub(crate) fn trigger_statements(backend: DatabaseBackend) -> Vec<String> {
    let mut statements = counter_triggers::owner_statements(backend);
    statements.extend(counter_triggers::counter_statements(backend));
    statements.extend(membership_triggers::statements(backend));
    statements.extend(item_visibility::statements(backend));
    statements.extend(pending_jobs::statements(backend));
    statements
}
