//! SQL for both databases: what differs is put in here.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

/// Runs the statements; `BYTES` stands for the type of raw bytes.
pub async fn run(manager: &SchemaManager<'_>, sql: &str) -> Result<(), DbErr> {
    let db = manager.get_connection();
    let bytes = if db.get_database_backend() == DatabaseBackend::Postgres { "BYTEA" } else { "BLOB" };
    for statement in sql.replace("BYTES", bytes).split(';').map(str::trim).filter(|s| !s.is_empty()) {
        db.execute_unprepared(statement).await?;
    }
    Ok(())
}
