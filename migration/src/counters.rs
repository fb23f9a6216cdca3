//! The counters, which are the numbers of rows that the API shows, and the triggers that keep them up to date. The queries that
//! compare them with the rows are in crate `database`.
//!
//! | Table | Row | Numbers |
//! |---|---|---|
//! | `account_count` | one for each account | bookmarks, documents, highlights, collections, feeds, projects, uploads and their bytes |
//! | `feed_count` | one for each followed feed | entries, and those that are not read |
//! | `tag_count` | one for each tag of a user that a bookmark has | bookmarks with the tag |
//! | `collection_count` | one for each collection | bookmarks in the collection |
//!
//! Deleted bookmarks and hidden documents do not count. So the tags and collections of a bookmark change with it when it is deleted
//! and when it is restored.
//!
//! The database counts in the transaction that changes a row, as it does for `library_usage` ([`crate::library_usage`]): on SQLite
//! for each row, on PostgreSQL once for each statement. A transaction that changes a counted row locks its user's row of
//! `library_usage` first, so two transactions never count for the same user at the same time. The names of these triggers sort
//! after those of `library_usage`, because PostgreSQL runs triggers of one event by their names: a statement outside of such a
//! transaction locks the row of `library_usage` first, too.
//!
//! An account, a feed and a collection have their row from their creation, so that counting is an update. The row is deleted before
//! them, so that the cascading deletes update nothing.

mod counted_rows;
mod counter_triggers;
mod membership_triggers;
mod sum_counters;
mod trigger_sql;

use sea_orm_migration::sea_orm::DatabaseBackend;

pub use counted_rows::CounterTable;

/// Returns the four tables of counters.
pub fn counter_tables() -> [CounterTable; 4] {
    [counted_rows::accounts(), counted_rows::feeds(), counted_rows::tags(), counted_rows::collections()]
}

/// Returns the statements that create the triggers, and on PostgreSQL their functions.
pub(crate) fn trigger_statements(backend: DatabaseBackend) -> Vec<String> {
    let mut statements = counter_triggers::owner_statements(backend);
    statements.extend(counter_triggers::counter_statements(backend));
    statements.extend(membership_triggers::statements(backend));
    statements
}
