//! Migrations of plain SQL for both databases.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

/// A migration that runs SQL in one transaction.
pub struct SqlMigration {
    /// The name under which the database records it.
    pub name: &'static str,
    /// The SQL of each table: the table, then its indexes. See [`run`].
    pub tables: &'static [&'static str],
}

impl MigrationName for SqlMigration {
    fn name(&self) -> &str {
        self.name
    }
}

#[async_trait::async_trait]
impl MigrationTrait for SqlMigration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        lift_timeouts(manager).await?;
        for sql in self.tables {
            run(manager, sql).await?;
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

/// Runs statements that are separated by `;`, which none of them contains. The word `BYTES` is replaced by the type of raw bytes.
///
/// # Errors
/// [`DbErr`] when the database refuses one of the statements.
pub async fn run(manager: &SchemaManager<'_>, sql: &str) -> Result<(), DbErr> {
    let db = manager.get_connection();
    let bytes = if db.get_database_backend() == DatabaseBackend::Postgres { "BYTEA" } else { "BLOB" };
    for statement in sql.replace("BYTES", bytes).split(';').map(str::trim).filter(|s| !s.is_empty()) {
        db.execute_unprepared(statement).await?;
    }
    Ok(())
}
