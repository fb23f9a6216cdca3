//! OAuth: clients, sign-in and consent pages, authorization codes, grants and tokens.

use crate::sql_migration::SqlMigration;

/// Creates the tables of the OAuth server.
pub fn migration() -> SqlMigration {
    SqlMigration::new(
        "m0006_oauth",
        &[OAUTH_CLIENT, OAUTH_SIGN_IN, OAUTH_CONSENT, OAUTH_CODE, OAUTH_GRANT, OAUTH_TOKEN],
    )
}

/// Two clients never have the same metadata document.
const OAUTH_CLIENT: &str = "
CREATE TABLE oauth_client (
    id UUID PRIMARY KEY,
    name TEXT,
    uri TEXT,
    redirect_uris TEXT NOT NULL,
    auth TEXT NOT NULL,
    secret_hash BYTES,
    metadata_url TEXT,
    metadata_read_at BIGINT,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL
);
CREATE INDEX oauth_client_last_used ON oauth_client (last_used_at);
CREATE UNIQUE INDEX oauth_client_metadata_url ON oauth_client (metadata_url)
";

const OAUTH_SIGN_IN: &str = "
CREATE TABLE oauth_sign_in (
    hash BYTES PRIMARY KEY,
    query TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_sign_in_expires ON oauth_sign_in (expires_at)
";

const OAUTH_CONSENT: &str = r#"
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
CREATE INDEX oauth_consent_expires ON oauth_consent (expires_at)
"#;

const OAUTH_CODE: &str = r#"
CREATE TABLE oauth_code (
    hash BYTES PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    client_id UUID NOT NULL REFERENCES oauth_client (id) ON DELETE CASCADE,
    redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL,
    scopes TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    state TEXT NOT NULL DEFAULT 'issued',
    token_family BIGINT
);
CREATE INDEX oauth_code_user_client ON oauth_code (user_id, client_id, issued_at);
CREATE INDEX oauth_code_client ON oauth_code (client_id);
CREATE INDEX oauth_code_expires ON oauth_code (expires_at)
"#;

/// A user has one grant for a client.
const OAUTH_GRANT: &str = r#"
CREATE TABLE oauth_grant (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    client_id UUID NOT NULL REFERENCES oauth_client (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    token_family BIGINT NOT NULL,
    scopes TEXT NOT NULL,
    resource TEXT NOT NULL,
    connected_at BIGINT NOT NULL,
    last_used_at BIGINT,
    mcp_client TEXT
);
CREATE UNIQUE INDEX oauth_grant_user_client ON oauth_grant (user_id, client_id);
CREATE INDEX oauth_grant_client ON oauth_grant (client_id)
"#;

/// `oauth_token_expires` begins with the kind, because each kind is kept for another time after it expires.
const OAUTH_TOKEN: &str = "
CREATE TABLE oauth_token (
    hash BYTES PRIMARY KEY,
    grant_id UUID NOT NULL REFERENCES oauth_grant (id) ON DELETE CASCADE,
    token_family BIGINT NOT NULL,
    kind TEXT NOT NULL,
    scopes TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    state TEXT NOT NULL DEFAULT 'issued'
);
CREATE INDEX oauth_token_grant ON oauth_token (grant_id, token_family);
CREATE INDEX oauth_token_expires ON oauth_token (kind, expires_at)
";
