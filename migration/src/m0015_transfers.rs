//! Imports and exports: files in and out, and what became of each row.

use crate::statement::Step;

/// Imports and exports: files in and out, and what became of each row.
pub const STEP: Step = Step { name: "m0015_transfers", up: UP };

// Whatever removes an import or an export, an account's end too, leaves its file without an owner, and so it is swept.
const UP: &str = r#"
CREATE TABLE import (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    state TEXT NOT NULL,
    dry_run BOOLEAN NOT NULL,
    format TEXT,
    unread_columns TEXT,
    done BIGINT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    error TEXT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX import_user ON import (user_id, id);

CREATE TABLE import_row (
    id UUID PRIMARY KEY,
    import_id UUID NOT NULL REFERENCES import (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    line BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    kind TEXT,
    source_id UUID,
    made_id UUID,
    detail TEXT
);
CREATE INDEX import_row_import ON import_row (import_id, outcome, line);
CREATE INDEX import_row_source ON import_row (import_id, source_id) WHERE source_id IS NOT NULL;

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

ALTER TABLE stored_file ADD COLUMN import_id UUID REFERENCES import (id) ON DELETE SET NULL;
ALTER TABLE stored_file ADD COLUMN export_id UUID REFERENCES export (id) ON DELETE SET NULL;
CREATE INDEX stored_file_import ON stored_file (import_id) WHERE import_id IS NOT NULL;
CREATE INDEX stored_file_export ON stored_file (export_id) WHERE export_id IS NOT NULL
"#;
