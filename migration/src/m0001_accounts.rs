//! Accounts, sessions, keys, what is counted and what is told.

use crate::statement::Step;

/// Accounts, sessions, keys, what is counted and what is told.
pub const STEP: Step = Step { name: "m0001_accounts", up: UP };

const UP: &str = r#"
CREATE TABLE "user" (
    id UUID PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    name TEXT,
    password_hash TEXT NOT NULL,
    plan TEXT NOT NULL,
    disabled_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE TABLE session (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    secret_hash BYTES NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX session_of_user ON session (user_id);

CREATE TABLE api_key (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    secret_hash BYTES NOT NULL UNIQUE,
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

CREATE TABLE usage_day (
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    day INTEGER NOT NULL,
    surface TEXT NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (user_id, day, surface)
);

CREATE TABLE usage_month (
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    month INTEGER NOT NULL,
    budget_group TEXT NOT NULL,
    times BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    PRIMARY KEY (user_id, month, budget_group)
);

CREATE TABLE activity (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL,
    at BIGINT NOT NULL,
    surface TEXT NOT NULL,
    key_id UUID,
    app_id UUID,
    key_name TEXT,
    route TEXT,
    tool TEXT,
    status TEXT NOT NULL,
    client TEXT,
    result_count INTEGER
);
CREATE INDEX activity_user ON activity (user_id, at, id);
CREATE INDEX activity_at ON activity (at);

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
CREATE INDEX notice_user ON notice (user_id, created_at, id);

CREATE TABLE idempotency (
    key_id UUID NOT NULL REFERENCES api_key (id) ON DELETE CASCADE,
    name_hash BYTES NOT NULL,
    request_hash BYTES NOT NULL,
    status SMALLINT,
    body TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (key_id, name_hash)
);
CREATE INDEX idempotency_created ON idempotency (created_at);

CREATE TABLE service_state (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
)
"#;
