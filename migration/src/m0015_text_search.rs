//! The search of texts on PostgreSQL, for the time in which a Qdrant server does not answer.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

use crate::sql_migration::{lift_timeouts, recorded_name};

/// The index of the words of each passage, within those of its owner. A query must spell `to_tsvector('simple', text)` in the same way. Its
/// list of new entries is short, as that of `bookmark_title_search`: searches read all of it. `user_id` needs the extension `btree_gin`,
/// which `m0014_title_search` creates.
const POSTGRES: &str = "CREATE INDEX chunk_words ON chunk
    USING gin (user_id, to_tsvector('simple', text)) WITH (gin_pending_list_limit = 256)";

/// The index of texts.
pub struct TextSearchMigration {
    name: String,
}

/// Creates the index of texts on PostgreSQL; on SQLite nothing.
pub fn migration() -> TextSearchMigration {
    TextSearchMigration { name: recorded_name("m0015_text_search", [POSTGRES]) }
}

impl MigrationName for TextSearchMigration {
    fn name(&self) -> &str {
        &self.name
    }
}

#[async_trait::async_trait]
impl MigrationTrait for TextSearchMigration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        lift_timeouts(manager).await?;
        let db = manager.get_connection();
        if db.get_database_backend() == DatabaseBackend::Postgres {
            db.execute_unprepared(POSTGRES).await?;
        }
        Ok(())
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}
