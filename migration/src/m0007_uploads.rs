//! Uploads, and the files that the store holds.

use crate::statement::Step;

/// Uploads, and the files that the store holds.
pub const STEP: Step = Step { name: "m0007_uploads", up: UP };

// Whatever removes an upload, an account's end too, leaves its files without an owner, and so they are swept.
const UP: &str = r#"
CREATE TABLE upload (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    arrived_at BIGINT,
    sha256 TEXT,
    completed_at BIGINT,
    document_id UUID REFERENCES document (id) ON DELETE CASCADE,
    bookmark_id UUID
);
CREATE INDEX upload_user ON upload (user_id);
CREATE UNIQUE INDEX upload_document ON upload (document_id);
CREATE INDEX upload_open ON upload (expires_at) WHERE completed_at IS NULL;

CREATE TABLE stored_file (
    id UUID PRIMARY KEY,
    upload_id UUID REFERENCES upload (id) ON DELETE SET NULL,
    path TEXT NOT NULL,
    held_until BIGINT NOT NULL,
    doomed BOOLEAN NOT NULL
);
CREATE INDEX stored_file_upload ON stored_file (upload_id);
CREATE INDEX stored_file_loose ON stored_file (held_until) WHERE upload_id IS NULL
"#;
