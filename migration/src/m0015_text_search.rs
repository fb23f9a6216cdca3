//! The search of texts on PostgreSQL, for the time in which a Qdrant server does not answer.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

use crate::sql_migration::{lift_timeouts, recorded_name};

/// The indexes of the words of passages, of documents (title, excerpt and the words of the URL), of tags and of highlights, each within those
/// of its owner. A query must spell the expressions in the same way. Their lists of new entries are short, as that of
/// `bookmark_title_search`: searches read all of them. `user_id` needs the extension `btree_gin`, which `m0014_title_search` creates.
///
/// `|` separates texts: it is part of no word, and ends a URL. Of an excerpt the first 8,000 characters count: a `tsvector` has at most a
/// megabyte. Of the URL of a document, scheme, query and fragment are left out; `\u003f` is
/// the question mark.
const POSTGRES: [&str; 4] = [
    "CREATE INDEX chunk_words ON chunk
       USING gin (user_id, to_tsvector('simple', text)) WITH (gin_pending_list_limit = 256)",
    r"CREATE INDEX document_words ON document
       USING gin (user_id, to_tsvector('simple', title || '|' || coalesce(left(description, 8000), '') || '|'
         || regexp_replace(coalesce(url, ''), '^[a-z]+://|[\u003f#].*|\W+|_', '|', 'gi')))
       WITH (gin_pending_list_limit = 256)",
    "CREATE INDEX bookmark_tag_words ON bookmark_tag
       USING gin (user_id, to_tsvector('simple', name)) WITH (gin_pending_list_limit = 256)",
    "CREATE INDEX highlight_words ON highlight
       USING gin (user_id, to_tsvector('simple', text || '|' || coalesce(note, ''))) WITH (gin_pending_list_limit = 256)",
];

/// The indexes of texts.
pub struct TextSearchMigration {
    name: String,
}

/// Creates the indexes of texts on PostgreSQL; on SQLite nothing.
pub fn migration() -> TextSearchMigration {
    TextSearchMigration { name: recorded_name("m0015_text_search", POSTGRES) }
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
            for statement in POSTGRES {
                db.execute_unprepared(statement).await?;
            }
        }
        Ok(())
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}
