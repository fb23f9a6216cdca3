//! The activity view and notices of a user.

use crate::sql_migration::SqlMigration;

/// Creates the tables of the activity view and of notices.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0010_activity", &[ACTIVITY, NOTICE])
}

/// No column is a foreign key: rows are written in batches and outlive the key or the grant to which they refer. A
/// separate statement deletes the rows of an account. Ids sort by the time of the call, so the primary key lists the calls of a user,
/// and the other indexes those through one surface, by one key or by one app. `activity_at` is for the clean-up.
const ACTIVITY: &str = "
CREATE TABLE activity (
    id UUID NOT NULL,
    user_id UUID NOT NULL,
    at BIGINT NOT NULL,
    surface TEXT NOT NULL,
    key_id UUID,
    grant_id UUID,
    key_name TEXT,
    route TEXT,
    tool TEXT,
    status TEXT NOT NULL,
    client TEXT,
    result_count INTEGER,
    PRIMARY KEY (user_id, id)
) WITHOUT ROWID;
CREATE INDEX activity_at ON activity (at);
CREATE INDEX activity_surface ON activity (user_id, surface, id);
CREATE INDEX activity_key ON activity (user_id, key_id, id, surface) WHERE key_id IS NOT NULL;
CREATE INDEX activity_grant ON activity (user_id, grant_id, id, surface) WHERE grant_id IS NOT NULL
";

/// `notice_unread` counts the unread notices of a user, and finds them to mark them as read.
const NOTICE: &str = r#"
CREATE TABLE notice (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    client TEXT,
    created_at BIGINT NOT NULL,
    read_at BIGINT
);
CREATE INDEX notice_user ON notice (user_id, id);
CREATE INDEX notice_unread ON notice (user_id) WHERE read_at IS NULL
"#;
