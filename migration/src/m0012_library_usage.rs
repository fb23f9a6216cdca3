//! The bytes that each user's library takes up, counted by triggers ([`crate::library_usage`]). It comes after the tables that it
//! counts.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

use crate::library_usage::trigger_statements;
use crate::sql_migration::{lift_timeouts, recorded_name, run};

/// The table of the counts and its triggers.
pub struct LibraryUsageMigration {
    name: String,
}

/// Creates the table of the counts and its triggers. The recorded name depends on the triggers of both databases.
pub fn migration() -> LibraryUsageMigration {
    let triggers = [DatabaseBackend::Sqlite, DatabaseBackend::Postgres].map(trigger_statements).concat();
    let sql = std::iter::once(LIBRARY_USAGE).chain(triggers.iter().map(String::as_str));
    LibraryUsageMigration { name: recorded_name("m0012_library_usage", sql) }
}

impl MigrationName for LibraryUsageMigration {
    fn name(&self) -> &str {
        &self.name
    }
}

#[async_trait::async_trait]
impl MigrationTrait for LibraryUsageMigration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        lift_timeouts(manager).await?;
        run(manager, LIBRARY_USAGE).await?;
        let db = manager.get_connection();
        // One by one and not through `run`: a trigger contains `;`.
        for statement in trigger_statements(db.get_database_backend()) {
            db.execute_unprepared(&statement).await?;
        }
        Ok(())
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

const LIBRARY_USAGE: &str = r#"
CREATE TABLE library_usage (
    user_id UUID PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    bytes BIGINT NOT NULL,
    responses BIGINT NOT NULL,
    response_bytes BIGINT NOT NULL
)
"#;
