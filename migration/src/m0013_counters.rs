//! The counters of rows that the API shows, kept by triggers ([`crate::counters`]). It comes after the tables that it counts, and
//! after `library_usage`, whose triggers run first.

use crate::counters::trigger_statements;
use crate::sql_migration::SqlMigration;

/// Creates the tables of the counters and their triggers.
pub fn migration() -> SqlMigration {
    SqlMigration::with_triggers("m0013_counters", &TABLES, trigger_statements)
}

/// The numbers have no `CHECK`: a wrong one, after a change by hand, must not refuse a change of the library.
const TABLES: [&str; 5] = [ACCOUNT_COUNT, FEED_COUNT, TAG_COUNT, COLLECTION_COUNT, PROJECT_COUNT];

const ACCOUNT_COUNT: &str = r#"
CREATE TABLE account_count (
    user_id UUID PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    bookmarks BIGINT NOT NULL DEFAULT 0,
    documents BIGINT NOT NULL DEFAULT 0,
    highlights BIGINT NOT NULL DEFAULT 0,
    collections BIGINT NOT NULL DEFAULT 0,
    feeds BIGINT NOT NULL DEFAULT 0,
    projects BIGINT NOT NULL DEFAULT 0,
    uploads BIGINT NOT NULL DEFAULT 0,
    upload_bytes BIGINT NOT NULL DEFAULT 0,
    failed_documents BIGINT NOT NULL DEFAULT 0,
    pending_jobs BIGINT NOT NULL DEFAULT 0
)
"#;

/// The owner is part of the key although the feed identifies the row: without statistics SQLite prefers an index that begins with the
/// owner to one on the feed alone for a query that names both, and reads the counters of all feeds of the user. The feed is no
/// foreign key, because a trigger deletes the row before it.
const FEED_COUNT: &str = r#"
CREATE TABLE feed_count (
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    feed_id UUID NOT NULL,
    entries BIGINT NOT NULL DEFAULT 0,
    unread BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, feed_id)
)
"#;

/// The key has the order of the list of tags.
const TAG_COUNT: &str = r#"
CREATE TABLE tag_count (
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    bookmarks BIGINT NOT NULL,
    PRIMARY KEY (user_id, name)
)
"#;

/// As in `feed_count`, the owner is part of the key and the collection is no foreign key.
const COLLECTION_COUNT: &str = r#"
CREATE TABLE collection_count (
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    collection_id UUID NOT NULL,
    bookmarks BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, collection_id)
)
"#;

/// As in `feed_count`, the owner is part of the key and the project is no foreign key.
const PROJECT_COUNT: &str = r#"
CREATE TABLE project_count (
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    project_id UUID NOT NULL,
    items BIGINT NOT NULL DEFAULT 0,
    sources BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, project_id)
)
"#;
