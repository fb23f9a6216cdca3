//! The tables and indexes of a database, by which the steps of a plan are judged.

use std::collections::{HashMap, HashSet};

use sea_orm::{ConnectionTrait, DatabaseBackend, DbErr, QueryResult, Statement};

/// The condition of indexes that have all rows but those that are deleted and not yet removed: the rows of lists.
const NOT_DELETED: &str = "deleted_at IS NULL";

const SQLITE_TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table'";
const SQLITE_INDEXES: &str = "SELECT name, tbl_name AS of_table, COALESCE(sql, '') AS definition FROM sqlite_master WHERE type = 'index'";
const POSTGRES_TABLES: &str =
    "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()";
const POSTGRES_INDEXES: &str = "SELECT indexname::text AS name, tablename::text AS of_table, indexdef AS definition FROM pg_indexes WHERE schemaname = current_schema()";

/// The tables and indexes of a database.
pub(super) struct Schema {
    tables: HashSet<String>,
    indexes: HashMap<String, TableIndex>,
}

/// An index of a table.
struct TableIndex {
    table: String,
    /// The condition of a partial index; empty if it has all rows.
    condition: String,
    /// Whether it has few of the rows: it has a condition other than that a row is not deleted.
    is_partial: bool,
}

impl Schema {
    /// Reads the tables and indexes.
    pub(super) async fn read(db: &impl ConnectionTrait) -> Result<Self, DbErr> {
        let backend = db.get_database_backend();
        let (tables, indexes) = if backend == DatabaseBackend::Postgres {
            (POSTGRES_TABLES, POSTGRES_INDEXES)
        } else {
            (SQLITE_TABLES, SQLITE_INDEXES)
        };
        let tables = db.query_all_raw(Statement::from_string(backend, tables)).await?;
        let indexes = db.query_all_raw(Statement::from_string(backend, indexes)).await?;
        Ok(Self {
            tables: tables.iter().map(|row| row.try_get("", "name")).collect::<Result<_, _>>()?,
            indexes: indexes.iter().map(read_index).collect::<Result<_, _>>()?,
        })
    }

    /// Returns a schema with one table and a partial index of it.
    #[cfg(test)]
    pub(super) fn with_partial_index(index: &str, table: &str) -> Self {
        let condition = "color = 'red'".to_owned();
        let partial = TableIndex { table: table.to_owned(), condition, is_partial: true };
        Self {
            tables: HashSet::from([table.to_owned()]),
            indexes: HashMap::from([(index.to_owned(), partial)]),
        }
    }

    pub(super) fn has_table(&self, name: &str) -> bool {
        self.tables.contains(name)
    }

    /// Returns the table of an index; `None` if there is no such index.
    pub(super) fn table_of_index(&self, index: &str) -> Option<&str> {
        self.indexes.get(index).map(|index| index.table.as_str())
    }

    /// Returns the condition of a partial index; empty for any other index.
    pub(super) fn condition(&self, index: &str) -> &str {
        self.indexes.get(index).map_or("", |index| index.condition.as_str())
    }

    /// Returns whether an index has few of the rows of its table.
    pub(super) fn is_partial(&self, index: &str) -> bool {
        self.indexes.get(index).is_some_and(|index| index.is_partial)
    }
}

fn read_index(row: &QueryResult) -> Result<(String, TableIndex), DbErr> {
    let definition: String = row.try_get("", "definition")?;
    let condition = definition.split_once("WHERE ").map_or("", |(_, condition)| condition).to_owned();
    // PostgreSQL encloses it.
    let is_partial = !condition.is_empty() && condition.trim_matches(['(', ')', ' ']) != NOT_DELETED;
    Ok((row.try_get("", "name")?, TableIndex { table: row.try_get("", "of_table")?, condition, is_partial }))
}
