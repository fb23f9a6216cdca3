//! Saved searches, changes that can be undone, and the indexes of further filters of the list of bookmarks.

use crate::sql_migration::SqlMigration;

/// Creates the tables of saved searches and of undos, and the indexes.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0018_library_views", &[SAVED_SEARCH, UNDO, FILTER_INDEXES])
}

/// A user has a hundred saved searches at most. `position` is null for one that is not pinned.
const SAVED_SEARCH: &str = r#"
CREATE TABLE saved_search (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    query TEXT NOT NULL,
    position INTEGER,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX saved_search_user ON saved_search (user_id, id)
"#;

/// The key of the steps includes the owner: without statistics SQLite prefers an index that begins with the owner to one on the undo
/// alone.
const UNDO: &str = r#"
CREATE TABLE undo (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX undo_user ON undo (user_id, id);
CREATE INDEX undo_expired ON undo (expires_at);
CREATE TABLE undo_step (
    undo_id UUID NOT NULL REFERENCES undo (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    position INTEGER NOT NULL,
    step TEXT NOT NULL,
    PRIMARY KEY (undo_id, user_id, position)
)
"#;

/// Each serves one term of the query language: `bookmark_started` `is:started`, `document_processing` `is:processing`, and
/// `document_feed_saved` `feed:`. `tag_count_top` has the tags of most bookmarks.
const FILTER_INDEXES: &str = "
CREATE INDEX bookmark_started ON bookmark (user_id, saved_at, id) WHERE deleted_at IS NULL AND progress > 0 AND progress < 1;
CREATE INDEX document_processing ON document (user_id, id) WHERE hidden_at IS NULL AND status = 'processing';
CREATE INDEX document_feed_saved ON document (feed_id, user_id, id) WHERE feed_id IS NOT NULL AND bookmark_id IS NOT NULL;
CREATE INDEX tag_count_top ON tag_count (user_id, bookmarks, name)
";
