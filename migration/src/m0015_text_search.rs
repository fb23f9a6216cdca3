//! The search of PostgreSQL itself, for the time in which a Qdrant server does not answer.

use sea_orm_migration::prelude::*;
use sea_orm_migration::sea_orm::{ConnectionTrait, DatabaseBackend};

use crate::sql_migration::{lift_timeouts, recorded_name};

/// The words of the points of the passage index, and the indexes of the words of documents (title, excerpt and the words of the URL), of
/// tags and of highlights, each within those of its owner. A query must spell the expressions in the same way. Their lists of new entries are
/// short, as that of `bookmark_title_search`: searches read all of them. `user_id` needs the extension `btree_gin`, which
/// `m0014_title_search` creates.
///
/// `point_words` has a row for each point: a passage, or a document for its metadata, whose id is that of the document. `words` are the ids of
/// its words in the index, unsigned numbers of 32 bits in ascending order, as signed ones; `weights` has a byte for the weight of each. A row
/// with 150 words has about a kilobyte, and 0.7 more in the indexes. The reference to the passage itself is not declared: rows of former
/// versions are deleted with the next one, and are not searched until then.
///
/// `|` separates texts: it is part of no word, and ends a URL. Of an excerpt the first 8,000 characters count: a `tsvector` has at most a
/// megabyte. Of the URL of a document, scheme, query and fragment are left out; `\u003f` is
/// the question mark.
const POSTGRES: [&str; 6] = [
    "CREATE TABLE point_words (
       id UUID PRIMARY KEY,
       document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
       user_id UUID NOT NULL,
       version INTEGER NOT NULL,
       language TEXT NOT NULL,
       words INTEGER[] NOT NULL,
       weights BYTEA NOT NULL)",
    "CREATE INDEX point_words_document ON point_words (document_id)",
    "CREATE INDEX point_words_words ON point_words
       USING gin (user_id, words) WITH (gin_pending_list_limit = 256)",
    r"CREATE INDEX document_words ON document
       USING gin (user_id, to_tsvector('simple', title || '|' || coalesce(left(description, 8000), '') || '|'
         || regexp_replace(coalesce(url, ''), '^[a-z]+://|[\u003f#].*|\W+|_', '|', 'gi')))
       WITH (gin_pending_list_limit = 256)",
    "CREATE INDEX bookmark_tag_words ON bookmark_tag
       USING gin (user_id, to_tsvector('simple', name)) WITH (gin_pending_list_limit = 256)",
    "CREATE INDEX highlight_words ON highlight
       USING gin (user_id, to_tsvector('simple', text || '|' || coalesce(note, ''))) WITH (gin_pending_list_limit = 256)",
];

/// The tables and indexes of the search.
pub struct TextSearchMigration {
    name: String,
}

/// Creates the tables and indexes of the search on PostgreSQL; on SQLite nothing.
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
