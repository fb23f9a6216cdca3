//! SQL for both databases: what differs is put in here.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

/// Runs the statements; `BYTES` stands for the type of raw bytes.
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
