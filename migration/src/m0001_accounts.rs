//! Accounts and how they are used: browser sessions and API keys.

use crate::sql_migration::SqlMigration;

/// Creates the tables of accounts, sessions and API keys.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0001_accounts", &[USER, SESSION, API_KEY])
}

const USER: &str = r#"
CREATE TABLE "user" (
    id UUID PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    name TEXT,
    password_hash TEXT NOT NULL,
    plan TEXT NOT NULL,
    disabled_at BIGINT,
    created_at BIGINT NOT NULL
)
"#;

const SESSION: &str = r#"
CREATE TABLE session (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    secret_hash BYTES NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX session_owner ON session (user_id, id);
CREATE INDEX session_expires ON session (expires_at)
"#;

const API_KEY: &str = r#"
CREATE TABLE api_key (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    secret_hash BYTES NOT NULL UNIQUE,
    is_connection_test BOOLEAN NOT NULL DEFAULT FALSE,
    display TEXT NOT NULL,
    scopes TEXT NOT NULL,
    hourly_limit INTEGER,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    first_used_at BIGINT,
    last_used_at BIGINT,
    last_client TEXT,
    mcp_client TEXT
);
CREATE INDEX api_key_user ON api_key (user_id);
-- The keys of connection tests, which the clean-up removes once they have expired.
CREATE INDEX api_key_test ON api_key (expires_at) WHERE is_connection_test
"#;
