//! Files in and out: uploads, imports with their rows, exports, and the files in the store.

use crate::sql_migration::SqlMigration;

/// Creates the tables of uploads, imports, exports and stored files.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0008_files", &[UPLOAD, IMPORT, IMPORT_ROW, EXPORT, STORED_FILE])
}

/// A document has one upload. `upload_incomplete` finds announced uploads that expire, `upload_user_incomplete` those of a user, and
/// `upload_user_arrival` those of a user whose bytes have not arrived. `upload_user` includes the document, for queries that name many
/// documents of their owner.
const UPLOAD: &str = r#"
CREATE TABLE upload (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    filename TEXT NOT NULL,
    content_type TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    receiving_until BIGINT NOT NULL DEFAULT 0,
    arrived_at BIGINT,
    sha256 TEXT,
    completed_at BIGINT,
    document_id UUID REFERENCES document (id) ON DELETE CASCADE,
    bookmark_id UUID
);
CREATE INDEX upload_user ON upload (user_id, document_id);
CREATE INDEX upload_user_arrival ON upload (user_id, completed_at, arrived_at);
CREATE INDEX upload_user_sha256 ON upload (user_id, sha256, id) WHERE completed_at IS NOT NULL;
CREATE UNIQUE INDEX upload_document ON upload (document_id);
CREATE INDEX upload_incomplete ON upload (expires_at) WHERE completed_at IS NULL;
CREATE INDEX upload_user_incomplete ON upload (user_id, expires_at) WHERE completed_at IS NULL
"#;

const IMPORT: &str = r#"
CREATE TABLE import (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    file_name TEXT,
    state TEXT NOT NULL,
    is_dry_run BOOLEAN NOT NULL,
    format TEXT,
    unread_columns TEXT,
    done BIGINT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    unlisted_faults TEXT,
    faults_in_a_row INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX import_user ON import (user_id, id);
CREATE INDEX import_running ON import (created_at) WHERE state = 'running'
"#;

/// `import_row_line` lists the rows in the order of the file. `import_row_object` finds the rows of other imports that refer
/// to the same object.
const IMPORT_ROW: &str = "
CREATE TABLE import_row (
    id UUID PRIMARY KEY,
    import_id UUID NOT NULL REFERENCES import (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    line BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    kind TEXT,
    source_id UUID,
    object_id UUID,
    name TEXT,
    detail TEXT
);
CREATE INDEX import_row_import ON import_row (import_id, outcome, line, id);
CREATE INDEX import_row_source ON import_row (import_id, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX import_row_object ON import_row (object_id) WHERE object_id IS NOT NULL;
CREATE INDEX import_row_line ON import_row (import_id, line, id)
";

/// A user has one running export.
const EXPORT: &str = r#"
CREATE TABLE export (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    bytes BIGINT,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX export_user ON export (user_id, id);
CREATE INDEX export_created ON export (created_at);
CREATE UNIQUE INDEX export_running ON export (user_id) WHERE state = 'running'
"#;

/// The reference to a deleted owner becomes null, because the row must outlive its owner until the bytes in the store are removed. A
/// periodic task removes a file that has no upload, import, export or document.
const STORED_FILE: &str = r#"
CREATE TABLE stored_file (
    id UUID PRIMARY KEY,
    upload_id UUID REFERENCES upload (id) ON DELETE SET NULL,
    import_id UUID REFERENCES import (id) ON DELETE SET NULL,
    export_id UUID REFERENCES export (id) ON DELETE SET NULL,
    document_id UUID REFERENCES document (id) ON DELETE SET NULL,
    user_id UUID REFERENCES "user" (id) ON DELETE SET NULL,
    bytes BIGINT NOT NULL DEFAULT 0,
    path TEXT NOT NULL,
    keep_until BIGINT NOT NULL,
    is_being_deleted BOOLEAN NOT NULL
);
CREATE INDEX stored_file_upload ON stored_file (upload_id) WHERE upload_id IS NOT NULL;
CREATE INDEX stored_file_without_upload ON stored_file (keep_until) WHERE upload_id IS NULL;
CREATE INDEX stored_file_import ON stored_file (import_id) WHERE import_id IS NOT NULL;
CREATE INDEX stored_file_export ON stored_file (export_id) WHERE export_id IS NOT NULL;
CREATE INDEX stored_file_document ON stored_file (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX stored_file_user ON stored_file (user_id)
"#;
