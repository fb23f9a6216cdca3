//! Projects, their items and their decisions.

use crate::sql_migration::SqlMigration;

/// Creates the tables of projects, their items and their decisions.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0005_projects", &[PROJECT, PROJECT_ITEM, DECISION])
}

/// `project_user` lists all projects of a user, for exports. `project_user_name` finds the project that is named.
const PROJECT: &str = r#"
CREATE TABLE project (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT,
    instructions TEXT NOT NULL,
    status TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX project_user_status ON project (user_id, status, updated_at, id);
CREATE INDEX project_user ON project (user_id, id);
CREATE INDEX project_user_name ON project (user_id, name, id)
"#;

/// A project contains each object once. `object_id` repeats `highlight_id`, or else `document_id`, so that one index makes both
/// unique. The item is deleted with its document or highlight. Triggers of `m0013_counters` keep `is_visible`. `project_item_source` and
/// `project_item_note` have the visible items in the order of the context of a project.
const PROJECT_ITEM: &str = "
CREATE TABLE project_item (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL,
    project_id UUID NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    object_id UUID NOT NULL,
    document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    highlight_id UUID REFERENCES highlight (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    pinned BOOLEAN NOT NULL,
    added_at BIGINT NOT NULL,
    is_visible BOOLEAN NOT NULL DEFAULT TRUE
);
CREATE INDEX project_item_project ON project_item (project_id, is_visible, id);
CREATE INDEX project_item_source ON project_item (project_id, pinned DESC, added_at DESC, id) WHERE is_visible AND kind <> 'note';
CREATE INDEX project_item_note ON project_item (project_id, pinned, id) WHERE is_visible AND kind = 'note';
CREATE UNIQUE INDEX project_item_object ON project_item (project_id, object_id);
CREATE INDEX project_item_document ON project_item (document_id);
CREATE INDEX project_item_highlight ON project_item (highlight_id) WHERE highlight_id IS NOT NULL
";

/// `decision_status` lists the decisions in force, the latest first. `decision_created` finds the decision that an import brings again:
/// it looks for each of a project, and would read all others.
const DECISION: &str = "
CREATE TABLE decision (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL,
    project_id UUID NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL,
    decided_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX decision_project ON decision (project_id, id);
CREATE INDEX decision_status ON decision (project_id, status, decided_at, id);
CREATE INDEX decision_created ON decision (project_id, created_at)
";
