//! Migrations of plain SQL for both databases.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

/// A function that returns the statements that create triggers on a database, one in each text.
type TriggerStatements = fn(DatabaseBackend) -> Vec<String>;

/// Settings of every function of a trigger on PostgreSQL, which make its statements use indexes. PostgreSQL keeps their plans in a
/// connection, and a plan that was made while the tables were small would read them completely later.
pub const BY_INDEXES: &str = "SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off";

/// A migration that runs SQL in one transaction.
pub struct SqlMigration {
    name: String,
    tables: &'static [&'static str],
    triggers: Option<TriggerStatements>,
}

impl SqlMigration {
    /// Creates a migration from its name and the SQL of each table: the table, then its indexes. See [`run`].
    pub fn new(name: &str, tables: &'static [&'static str]) -> Self {
        Self { name: recorded_name(name, tables.iter().copied()), tables, triggers: None }
    }

    /// Creates a migration as [`Self::new`] does that creates triggers after the tables. The recorded name depends on the triggers of both
    /// databases.
    pub fn with_triggers(name: &str, tables: &'static [&'static str], triggers: TriggerStatements) -> Self {
        let statements = [DatabaseBackend::Sqlite, DatabaseBackend::Postgres].map(triggers).concat();
        let sql = tables.iter().copied().chain(statements.iter().map(String::as_str));
        Self { name: recorded_name(name, sql), tables, triggers: Some(triggers) }
    }
}

/// Returns the name under which a database records a migration: it ends with a checksum of the SQL. Comments (`--` to the end of the
/// line) and white space that separates no names do not count. A quoted text must contain neither `--` nor white space.
pub fn recorded_name<'a>(name: &str, sql: impl IntoIterator<Item = &'a str>) -> String {
    let mut checksum = crc32fast::Hasher::new();
    let lines = sql.into_iter().flat_map(str::lines).filter_map(|line| line.split("--").next());
    let mut is_after_name = false;
    for word in lines.flat_map(str::split_whitespace) {
        if is_after_name && word.starts_with(is_part_of_name) {
            checksum.update(b" ");
        }
        checksum.update(word.as_bytes());
        is_after_name = word.ends_with(is_part_of_name);
    }
    format!("{name}_{:08x}", checksum.finalize())
}

fn is_part_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

impl MigrationName for SqlMigration {
    fn name(&self) -> &str {
        &self.name
    }
}

#[async_trait::async_trait]
impl MigrationTrait for SqlMigration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        lift_timeouts(manager).await?;
        for sql in self.tables {
            run(manager, sql).await?;
        }
        let db = manager.get_connection();
        // One by one and not through `run`: a trigger contains `;`.
        for statement in self.triggers.map(|triggers| triggers(db.get_database_backend())).unwrap_or_default()
        {
            db.execute_unprepared(&statement).await?;
        }
        Ok(())
    }

    // By default only PostgreSQL gets a transaction. SQLite can change its schema within one too.
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

/// Lets the statements of the transaction take any time: the timeouts of the connection are made for requests, and a large table
/// takes longer to change.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn lift_timeouts(manager: &SchemaManager<'_>) -> Result<(), DbErr> {
    let db = manager.get_connection();
    if db.get_database_backend() == DatabaseBackend::Postgres {
        // LOCAL: the connection goes back to the pool with its own timeouts.
        db.execute_unprepared("SET LOCAL statement_timeout = 0").await?;
        db.execute_unprepared("SET LOCAL lock_timeout = 0").await?;
    }
    Ok(())
}

/// Runs statements that are separated by `;`, which none of them contains. The word `BYTES` is replaced by the type of raw bytes, and
/// `WITHOUT ROWID`, which only SQLite knows, is left out on PostgreSQL.
///
/// # Errors
/// [`DbErr`] when the database refuses one of the statements.
async fn run(manager: &SchemaManager<'_>, sql: &str) -> Result<(), DbErr> {
    let db = manager.get_connection();
    let is_postgres = db.get_database_backend() == DatabaseBackend::Postgres;
    let (bytes, row_id) = if is_postgres { ("BYTEA", "") } else { ("BLOB", "WITHOUT ROWID") };
    let sql = sql.replace("BYTES", bytes).replace("WITHOUT ROWID", row_id);
    for statement in sql.split(';').map(str::trim).filter(|s| !s.is_empty()) {
        db.execute_unprepared(statement).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_name_changes_with_the_statements_only() {
        let name = |sql: &str| recorded_name("m0001_birds", [sql]);
        let statements = "CREATE TABLE bird (\n    id UUID, n INT\n);\nCREATE INDEX bird_id ON bird (id, n)";

        assert!(name(statements).starts_with("m0001_birds_"));
        assert_eq!(name(statements), name(&statements.replace('\n', "\n\n")));
        assert_eq!(name(statements), name(&statements.replace(";\n", ";\n-- For look-ups.\n")));
        assert_eq!(name(statements), name(&statements.replace(" UUID,", " UUID, -- The key.\n   ")));
        assert_eq!(name(statements), name(&statements.replace(", ", ",").replace("bird (", "bird(")));
        assert_ne!(name(statements), name(&statements.replace("UUID", "TEXT")));
        assert_ne!(name(statements), name(&statements.replace("id UUID", "idUUID")));
    }
}
