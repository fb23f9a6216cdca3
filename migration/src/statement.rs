//! SQL for both databases: what differs is put in here.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

/// A step of the tables, done whole or not at all.
pub struct Step {
    /// By which the database knows that it was done.
    pub name: &'static str,
    /// What is done; `BYTES` stands for the type of raw bytes.
    pub up: &'static str,
}

impl MigrationName for Step {
    fn name(&self) -> &str {
        self.name
    }
}

#[async_trait::async_trait]
impl MigrationTrait for Step {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        run(manager, self.up).await
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

/// Runs statements that end with `;`, none of which holds one within.
///
/// # Errors
/// The database refuses one of them.
pub async fn run(manager: &SchemaManager<'_>, sql: &str) -> Result<(), DbErr> {
    let db = manager.get_connection();
    let postgres = db.get_database_backend() == DatabaseBackend::Postgres;
    if postgres {
        // The service's own patience is for requests: a large table takes longer to change.
        db.execute_unprepared("SET LOCAL statement_timeout = 0").await?;
        db.execute_unprepared("SET LOCAL lock_timeout = 0").await?;
    }
    let bytes = if postgres { "BYTEA" } else { "BLOB" };
    for statement in sql.replace("BYTES", bytes).split(';').map(str::trim).filter(|s| !s.is_empty()) {
        db.execute_unprepared(statement).await?;
    }
    Ok(())
}
