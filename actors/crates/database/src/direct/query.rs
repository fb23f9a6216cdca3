//! The SQL of a direct read, which is built once.

use sea_orm::{DatabaseBackend, Statement, Value};

/// A query whose SQL never changes: only its values do. Keep it in a `static` with a `LazyLock`, so that it is built once and each
/// connection prepares it once.
#[derive(Clone, Debug)]
pub struct DirectQuery {
    sqlite: String,
    postgres: String,
}

impl DirectQuery {
    /// Makes a query of the SQL for each of the two databases. Parameters are `$1`, `$2` and so on for both, may stand in any order and
    /// may be repeated; `$` must not occur otherwise. Owned tables are read from their owner on, as everywhere.
    pub fn of_sql(build: impl Fn(DatabaseBackend) -> String) -> Self {
        // SQLite takes `$1` for a name, which it numbers by its first place in the text.
        let sqlite = build(DatabaseBackend::Sqlite).replace('$', "?");
        Self { sqlite, postgres: build(DatabaseBackend::Postgres) }
    }

    /// Returns a list of parameters for the SQL of a query, such as `$2, $3, $4`.
    pub fn parameters(first: usize, count: usize) -> String {
        let numbers: Vec<String> = (first..first + count).map(|number| format!("${number}")).collect();
        numbers.join(", ")
    }

    /// Returns the SQL for a database.
    pub fn sql(&self, backend: DatabaseBackend) -> &str {
        if backend == DatabaseBackend::Postgres { &self.postgres } else { &self.sqlite }
    }

    /// Returns the query with these values, as a pool runs it.
    pub(crate) fn statement(&self, backend: DatabaseBackend, values: Vec<Value>) -> Statement {
        Statement::from_sql_and_values(backend, self.sql(backend), values)
    }
}
