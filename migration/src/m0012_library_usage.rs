//! The bytes that each user's library takes up, counted by triggers ([`crate::library_usage`]). It comes after the tables that it
//! counts.

use crate::library_usage::trigger_statements;
use crate::sql_migration::SqlMigration;

/// Creates the table of the counts and its triggers.
pub fn migration() -> SqlMigration {
    SqlMigration::with_triggers("m0012_library_usage", &[LIBRARY_USAGE], trigger_statements)
}

const LIBRARY_USAGE: &str = r#"
CREATE TABLE library_usage (
    user_id UUID PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    bytes BIGINT NOT NULL,
    responses BIGINT NOT NULL,
    response_bytes BIGINT NOT NULL
)
"#;
