//! Applications that sign in by OAuth: clients, consents, codes, connections, tokens.

use crate::statement::Step;

/// Applications that sign in by OAuth: clients, consents, codes, connections, tokens.
pub const STEP: Step = Step { name: "m0006_oauth", up: UP };

const UP: &str = r#"
CREATE TABLE oauth_client (
    id UUID PRIMARY KEY,
    name TEXT,
    uri TEXT,
    redirect_uris TEXT NOT NULL,
    auth TEXT NOT NULL,
    secret_hash BYTES,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL
);
CREATE INDEX oauth_client_used ON oauth_client (last_used_at);

CREATE TABLE oauth_grant (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    client_id UUID NOT NULL REFERENCES oauth_client (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    branch BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    resource TEXT NOT NULL,
    connected_at BIGINT NOT NULL,
    last_used_at BIGINT,
    mcp_client TEXT
);
CREATE UNIQUE INDEX oauth_grant_between ON oauth_grant (user_id, client_id);
CREATE INDEX oauth_grant_client ON oauth_grant (client_id);

CREATE TABLE oauth_consent (
    hash BYTES PRIMARY KEY,
    session_id UUID NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    client_id UUID NOT NULL REFERENCES oauth_client (id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    state TEXT NOT NULL,
    challenge TEXT NOT NULL,
    scopes TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_consent_session ON oauth_consent (session_id);
CREATE INDEX oauth_consent_user ON oauth_consent (user_id);
CREATE INDEX oauth_consent_client ON oauth_consent (client_id);
CREATE INDEX oauth_consent_expires ON oauth_consent (expires_at);

CREATE TABLE oauth_code (
    hash BYTES PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    client_id UUID NOT NULL REFERENCES oauth_client (id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL,
    scopes TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    branch BIGINT
);
CREATE INDEX oauth_code_between ON oauth_code (user_id, client_id);
CREATE INDEX oauth_code_client ON oauth_code (client_id);
CREATE INDEX oauth_code_expires ON oauth_code (expires_at);

CREATE TABLE oauth_token (
    hash BYTES PRIMARY KEY,
    grant_id UUID NOT NULL REFERENCES oauth_grant (id) ON DELETE CASCADE,
    branch BIGINT NOT NULL,
    kind TEXT NOT NULL,
    scopes TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX oauth_token_grant ON oauth_token (grant_id);
CREATE INDEX oauth_token_expires ON oauth_token (expires_at)
"#;
